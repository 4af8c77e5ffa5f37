// What outlives a reload of this tab, and nothing else.

export const sessionStore = (name) => ({
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(name));
    } catch {
      return null;
    }
  },
  write(value) {
    try {
      sessionStorage.setItem(name, JSON.stringify(value));
    } catch {
      sessionStorage.removeItem(name); // too much, or not allowed: then nothing outlives a reload
    }
  },
});
