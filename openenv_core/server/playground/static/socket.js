// One session over version 2 of the protocol: opened when it is wanted, taken up again after a blip or a reload.

const PAUSES_MS = [100, 300, 700, 1500, 3000];
const WAIT_S = 3600;

export class ServerError extends Error {
  constructor(data) {
    super(data.message);
    this.code = data.code;
    this.details = data.details ?? {};
  }
}

/**
 * What a tab has of the server. `store` keeps, beyond a reload: the session, its token, the last id, and the request
 * that has no answer yet. That one is sent again under its id, so it is done once, whatever happens in between.
 *
 * Tells: onstatus(status) with "away", "connecting" or "connected"; onqueued(position); onlost(reason, message).
 */
export class Session {
  constructor(url, store) {
    this.url = url;
    this.store = store;
    this.kept = store.read() ?? { session: null, token: null, id: 0, request: null };
    this.limits = null;
    this.waiting = null;
    this.opening = null;
    this.attempt = 0;
    this.status = "away";
    this.wanted = false;
    this.line = Promise.resolve();
    window.addEventListener("online", () => this.hurry());
    window.addEventListener("offline", () => this.socket?.close());
  }

  get isOpen() { return this.kept.session !== null; }

  keep(changes) {
    Object.assign(this.kept, changes);
    this.store.write(this.kept);
  }

  forget() { this.keep({ session: null, token: null, request: null }); }

  /** Open a session, after waiting in the server's queue where it is full. */
  open() {
    this.wanted = true;
    return new Promise((resolve, reject) => {
      this.opening = { id: null, resolve, reject };
      this.connect();
    });
  }

  /** Take up the session of before a reload; resolves with the answer that is still owed, or null. */
  resume() {
    this.wanted = true;
    const { request } = this.kept;
    const owed = request === null ? null : new Promise((resolve, reject) => { this.waiting = { resolve, reject }; });
    if (owed) this.line = owed.catch(() => {});
    return new Promise((resolve, reject) => {
      this.resuming = { resolve: () => resolve({ request, owed }), reject };
      this.connect();
    });
  }

  /** One call; resolves with its answer. Calls go one after the other: the server remembers the last answer only. */
  call(type, data) {
    const answer = this.line.then(() => this.callNow(type, data));
    this.line = answer.catch(() => {});
    return answer;
  }

  callNow(type, data) {
    if (!this.isOpen) {
      return Promise.reject(new ServerError({ code: "SESSION_LOST", message: "the session is gone", details: {} }));
    }
    const id = this.kept.id + 1;
    const frame = { id, session: this.kept.session, type };
    if (data !== undefined) frame.data = data;
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.keep({ id, request: frame });
      if (this.status === "connected") this.send(frame);
      else this.connect();
    });
  }

  /** Leave the queue. */
  giveUp() {
    if (this.opening?.id) this.send({ id: this.opening.id, type: "cancel" });
    else this.opening?.reject(new ServerError({ code: "CANCELLED", message: "not connected" }));
  }

  connect() {
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) {
      if (this.socket.readyState === WebSocket.OPEN && this.limits) this.greet();
      return;
    }
    this.tell("connecting");
    clearTimeout(this.timer);
    this.limits = null;
    const socket = new WebSocket(this.url, ["openenv.v2"]);
    this.socket = socket;
    socket.addEventListener("message", (event) => {
      if (socket !== this.socket) return;
      const message = JSON.parse(event.data);
      for (const frame of Array.isArray(message) ? message : [message]) this.take(frame);
    });
    socket.addEventListener("close", () => { if (socket === this.socket) this.gone(); });
  }

  gone() {
    this.socket = null;
    if (this.opening) this.opening.id = null;
    if (!this.wanted) return this.tell("away");
    this.tell("connecting");
    const pause = PAUSES_MS[Math.min(this.attempt, PAUSES_MS.length - 1)];
    this.attempt += 1;
    this.timer = setTimeout(() => this.connect(), pause);
    return undefined;
  }

  hurry() {
    if (this.wanted && !this.socket) {
      clearTimeout(this.timer);
      this.connect();
    }
  }

  tell(status) {
    this.status = status;
    this.onstatus?.(status, this.attempt);
  }

  send(frame) { this.socket.send(JSON.stringify(frame)); }

  greet() {
    if (this.isOpen && this.status !== "connected") {
      this.keep({ id: this.kept.id + 1 });
      this.greeting = this.kept.id;
      this.send({ id: this.greeting, type: "open", data: { session: this.kept.session, token: this.kept.token } });
    } else if (this.opening && this.opening.id === null) {
      this.keep({ id: this.kept.id + 1 });
      this.opening.id = this.kept.id;
      this.tell("connected");
      this.send({ id: this.opening.id, type: "open", data: { wait_s: WAIT_S } });
    }
  }

  take(frame) {
    if (frame.type === "hello") {
      this.limits = frame.data.limits;
      this.attempt = 0;
      this.greet();
    } else if (frame.type === "queued") this.onqueued?.(frame.data.position);
    else if (frame.type === "opened") {
      this.keep({ session: frame.session, token: frame.data.token, request: null });
      this.settle("opening").resolve();
    } else if (frame.type === "resumed") this.resumed(frame);
    else if (frame.type === "closed") this.closed(frame);
    else if (frame.type === "error") this.failed(frame);
    else if (frame.id === this.kept.request?.id) {
      this.keep({ request: null });
      this.settle("waiting").resolve(frame);
    }
  }

  resumed(frame) {
    const { request } = this.kept;
    this.keep({ id: Math.max(this.kept.id, frame.data.last_id) });
    this.tell("connected");
    if (request !== null) this.send(request);
    this.settle("resuming")?.resolve();
  }

  closed(frame) {
    if (frame.session === this.kept.session) this.lose(frame.data.reason, frame.data.message);
  }

  failed(frame) {
    const error = new ServerError(frame.data);
    if (frame.id !== undefined && frame.id === this.opening?.id) {
      this.settle("opening").reject(error);
    } else if (frame.id === this.greeting || error.code === "SESSION_LOST") {
      this.lose(error.details.reason ?? "closed", error.message);
    } else if (frame.id === this.kept.request?.id) {
      this.keep({ request: null });
      this.settle("waiting").reject(error);
    }
  }

  lose(reason, message) {
    const error = new ServerError({ code: "SESSION_LOST", message, details: { reason } });
    this.forget();
    this.wanted = false;
    this.tell("connected");
    this.settle("resuming")?.reject(error);
    this.settle("waiting")?.reject(error);
    this.onlost?.(reason, message);
  }

  settle(name) {
    const waiting = this[name];
    this[name] = null;
    return waiting;
  }
}

/** Whether no other tab has this session: a tab that was duplicated has a copy of everything. Keeps it until the tab ends. */
export async function claim(session) {
  if (!navigator.locks) return true;
  for (let round = 0; round < 10; round += 1) {
    const mine = await new Promise((resolve) => {
      navigator.locks.request(`openenv-${session}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        return lock === null ? undefined : new Promise(() => {});
      });
    });
    if (mine) return true;
    await new Promise((resolve) => { setTimeout(resolve, 60); }); // the page before a reload lets go in a moment
  }
  return false;
}
