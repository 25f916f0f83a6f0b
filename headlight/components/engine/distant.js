// A service in a worker, see service.js.

import { GivenUp } from "./runs.js";

export class Distant {
  // address: that of the worker's text; model: { header, weights, kernel }. Null where no worker may be; the model is
  // then still here, and else its weights are gone.
  static async open(address, model) {
    let worker;
    try {
      worker = new Worker(address);
    } catch {
      return null;
    }
    const distant = new Distant(worker);
    return (await distant.begin(model)) ? distant : null;
  }

  constructor(worker) {
    this.worker = worker;
    this.asked = new Map();
  }

  // Send the model once the worker has begun; false where it cannot.
  begin(model) {
    return new Promise((resolve, reject) => {
      this.worker.onerror = () => resolve(false); // its policy forbids it: nothing has been sent
      this.worker.onmessage = ({ data }) => {
        if (data.begun) this.worker.postMessage({ model }, [model.weights.buffer]);
        else if (data.failed) reject(Object.assign(new Error(), data.failed));
        else {
          this.kernelName = data.ready.kernel;
          this.worker.onmessage = ({ data }) => this.hear(data);
          resolve(true);
        }
      };
    });
  }

  ask(verb, given, options, each) {
    const number = (this.last = (this.last ?? 0) + 1);
    return new Promise((resolve, reject) => {
      this.asked.set(number, { resolve, reject, each });
      this.worker.postMessage({ number, verb, given, options });
    });
  }

  hear({ number, each, value, error }) {
    const asked = this.asked.get(number);
    if (each !== undefined) return asked.each(each);
    this.asked.delete(number);
    if (error === undefined) return asked.resolve(value);
    return asked.reject(error.name === "GivenUp" ? new GivenUp() : Object.assign(new Error(), error));
  }

  giveUp(lane) {
    this.worker.postMessage({ givenUp: lane });
  }

  // Who is still waiting for an answer is told that there is none.
  end() {
    this.worker.terminate();
    for (const { reject } of this.asked.values()) reject(new GivenUp());
  }
}
