import assert from "node:assert/strict";
import { test } from "node:test";

import { cellIn } from "../../headlight/components/figure_downloads/link.js";

test("a cell of a whole map is found in the part that begins further on, and only there", () => {
  const part = { link: [6, 0], size: [4, 6] };
  assert.deepEqual(cellIn(part, [7, 5]), [1, 5]);
  for (const cell of [[5, 0], [10, 0], [6, 6]]) assert.equal(cellIn(part, cell), null);
});
