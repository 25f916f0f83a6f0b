// One run after the other on one engine, in slices, so that whoever waits for a key or a message is heard in between.
//
// A run is a generator. A newer run of the same lane gives up the older one: who types wants the translation of what
// stands there now. Runs without a lane wait for their turn. Runs in the background (`background: true`) are set aside
// while another waits.

const SLICE = 8; // ms of work in a row

// What a run that was given up rejects with.
export class GivenUp extends Error {
  constructor() {
    super("given up for a newer run");
    this.name = "GivenUp";
  }
}

// A turn of the event loop without the four milliseconds that nested timers wait.
export function breather() {
  const { port1, port2 } = new MessageChannel(), waiting = [];
  port1.onmessage = () => {
    waiting.shift()();
    if (!waiting.length) port1.unref?.(); // node would wait for it for ever
  };
  port1.unref?.();
  return () => new Promise((resolve) => {
    port1.ref?.();
    waiting.push(resolve);
    port2.postMessage(null);
  });
}

export class Runs {
  constructor(breathe = breather()) {
    this.breathe = breathe;
    this.waiting = [];
    this.isWorking = false;
  }

  // Add a run; begin() gives its generator, which is called when its turn comes, each(value) gets what it yields.
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
    await this.breathe(); // several that are asked for at once are all here then
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
