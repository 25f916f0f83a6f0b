// A queue of runs on one engine, in slices, so that keys and messages are handled in between.
//
// A run is a generator. A newer run of the same lane gives up the older one: while the visitor types, only the newest
// text matters. Runs without a lane wait for their turn. Background runs are set aside while another waits.

const SLICE = 8; // ms of work in a row

// Rejection of a run that was given up.
export class GivenUp extends Error {
  constructor() {
    super("given up for a newer run");
    this.name = "GivenUp";
  }
}

// A turn of the event loop without the four milliseconds that nested timers wait.
function breather() {
  const { port1, port2 } = new MessageChannel(), waiting = [];
  port1.onmessage = () => {
    waiting.shift()();
    if (!waiting.length) port1.unref?.(); // else node would never end
  };
  port1.unref?.();
  return () => new Promise((resolve) => {
    port1.ref?.();
    waiting.push(resolve);
    port2.postMessage(null);
  });
}

export class Runs {
  constructor() {
    Object.assign(this, { breathe: breather(), waiting: [], isWorking: false });
  }

  // Add a run. begin(): returns its generator, called when its turn comes; each(value): called with yielded values.
  add(begin, { lane = null, background = false, each = () => {} } = {}) {
    if (lane !== null) this.giveUp(lane);
    return new Promise((resolve, reject) => {
      this.waiting.push({ begin, lane, background, each, resolve, reject, generator: null });
      if (!this.isWorking) this.work();
    });
  }

  // Give up all runs of a lane.
  giveUp(lane) {
    const isOf = (run) => run.lane === lane;
    for (const run of this.waiting.filter(isOf)) run.reject(new GivenUp());
    this.waiting = this.waiting.filter((run) => !isOf(run));
  }

  async work() {
    this.isWorking = true;
    await this.breathe(); // for runs that are added at once
    while (this.waiting.length) {
      const run = this.waiting.find(({ background }) => !background) ?? this.waiting[0];
      if (this.slice(run)) this.waiting = this.waiting.filter((each) => each !== run);
      await this.breathe();
    }
    this.isWorking = false;
  }

  // Work on a run for a while; true when it has come to its end.
  slice(run) {
    const end = performance.now() + SLICE;
    try {
      run.generator ??= run.begin();
      do {
        const { done, value } = run.generator.next();
        if (done) {
          run.resolve(value);
          return true;
        }
        if (value !== undefined) run.each(value);
      } while (performance.now() < end);
      return false;
    } catch (error) {
      run.reject(error);
      return true;
    }
  }
}
