// Requests to the server. What it refuses comes as an Error with its sentence.

class Refused extends Error {
  constructor(status, said) {
    super(said);
    this.status = status;
  }
}

class Server {
  constructor() {
    this.token = sessionStorage.getItem("token") || "";
  }

  use(token) {
    this.token = token;
    sessionStorage.setItem("token", token);
  }

  // Asks for /live/WHAT with `pairs` of names and values, and gives what is told. Long names go into the form.
  async ask(what, pairs, signal) {
    const headers = { "Content-Type": "application/x-www-form-urlencoded" };
    if (this.token) headers.Authorization = "Bearer " + this.token;
    const body = new URLSearchParams(pairs).toString();
    let answer;
    try {
      answer = await fetch("/live/" + what, { method: "POST", headers, body, signal, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused(0, "The server does not answer. Trying again.");
    }
    let told = null;
    try {
      told = await answer.json();
    } catch (error) {
      if (error.name === "AbortError") throw error;
    }
    if (answer.ok && told) return told;
    throw new Refused(answer.status, (told && told.error) || "The server answered with status " + answer.status + ".");
  }
}
