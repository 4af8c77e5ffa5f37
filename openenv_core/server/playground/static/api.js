// The routes for operators.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function ask(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, { headers: { accept: "application/json" }, ...options });
  } catch {
    throw new Refused(0, "The server does not answer.");
  }
  const body = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Refused(reply.status, body.message ?? `The server answers ${reply.status}.`);
  return body;
}
