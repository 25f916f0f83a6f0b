// The clock of the whole pass: a playhead whose steps are stations, between which time runs on.

import { isStill } from "../lib/motion.js";
import { Playhead } from "../lib/playback.js";
import { SECONDS, stationAt } from "./story.js";

export class Clock extends Playhead {
  take(story) {
    Object.assign(this, { story, last: story.stations.length - 1 });
    this.startAnew();
    this.place(0);
  }

  // At a station nothing moves: it is shown at its still.
  place(at) {
    super.place(at);
    this.time = this.story.stations[this.at].still;
  }

  rewind() {
    Object.assign(this, { at: this.first, time: 0 });
  }

  play() {
    if (this.at === this.last && !isStill()) this.rewind();
    super.play();
  }

  // Where less motion is preferred, from still to still.
  schedule(end) {
    if (isStill()) return super.schedule(end);
    const mine = (this.timer = {}); // another schedule, or a pause, replaces it
    let before = null;
    const tick = (now) => {
      if (this.timer !== mine) return;
      this.time = Math.min(SECONDS, this.time + ((now - (before ?? now)) / 1000) * Number(this.find("select").value));
      before = now;
      this.at = stationAt(this.story, this.time);
      this.draw();
      if (this.time < SECONDS) requestAnimationFrame(tick);
      else this.pause();
    };
    return requestAnimationFrame(tick);
  }

  // Another sentence stands below the picture while it plays.
  pause(report) {
    const playing = this.timer !== null;
    super.pause(report);
    if (playing) this.draw();
  }

  leave() {
    this.timer = null;
    super.leave();
  }
}
