// A service in a worker, see service.js.

import { GivenUp } from "./runs.js";

export class Distant {
  // Open a worker by the address of its script and move the model { header, weights, kernel } there. Return null where
  // workers are forbidden; the model's weights are then still here.
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
    Object.assign(this, { worker, pending: new Map(), last: 0 });
  }

  // Send the model once the worker has begun; resolve to false where it cannot.
  begin(model) {
    return new Promise((resolve, reject) => {
      this.worker.onerror = () => resolve(false); // its policy forbids it: nothing has been sent
      this.worker.onmessage = ({ data }) => {
        if (data.begun) this.worker.postMessage({ model }, [model.weights.buffer]);
        else if (data.failed) reject(Object.assign(new Error(), data.failed));
        else {
          this.kernelName = data.ready.kernel;
          this.worker.onmessage = ({ data }) => this.receive(data);
          resolve(true);
        }
      };
    });
  }

  ask(verb, args, options, each) {
    const number = (this.last += 1);
    return new Promise((resolve, reject) => {
      this.pending.set(number, { resolve, reject, each });
      this.worker.postMessage({ number, verb, args, options });
    });
  }

  receive({ number, each, value, error }) {
    const question = this.pending.get(number);
    if (each !== undefined) return question.each(each);
    this.pending.delete(number);
    if (error === undefined) return question.resolve(value);
    return question.reject(error.name === "GivenUp" ? new GivenUp() : Object.assign(new Error(), error));
  }

  giveUp(lane) {
    this.worker.postMessage({ givenUp: lane });
  }

  // End the worker and reject all pending questions.
  end() {
    this.worker.terminate();
    for (const { reject } of this.pending.values()) reject(new GivenUp());
  }
}
