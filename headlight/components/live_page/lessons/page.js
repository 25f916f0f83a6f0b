// The live page with lessons: a list of them, and a step beside the views.

import { default as startPage } from "../page.js";
import { Lessons } from "./lessons.js";

export default function start() {
  return startPage(Lessons);
}
