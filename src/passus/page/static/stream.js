// The stream of changes from the server, for the figure of one view at a time.

import { address } from "./answers.js";

export class Stream {
  // `take` has a function per kind of message, and one for the connection that opens or breaks (link).
  constructor(take) {
    this.take = take;
    this.address = "";
    this.source = null;
    this.isOpen = false;
  }

  // Returns whether this view needed another stream.
  open(query) {
    const to = address("events", query);
    if (to === this.address) return false;
    this.address = to;
    this.source?.close();
    this.source = new EventSource(to);
    this.source.onopen = () => this.link(true);
    this.source.onerror = () => this.link(false);
    for (const kind of ["figure", "arms", "about", "stamp"]) {
      this.source.addEventListener(kind, event => this.take[kind](JSON.parse(event.data)));
    }
    return true;
  }

  // The next view is asked for even where it is the same.
  forget() {
    this.address = "";
  }

  link(isOpen) {
    this.isOpen = isOpen;
    this.take.link();
  }
}
