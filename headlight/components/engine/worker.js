// The entry of the worker: the verbs of headlight.js by messages.

import { Service } from "./service.js";

export default function serve() {
  let service = null;

  // Arrays go over without a copy.
  const send = (message, value) => postMessage(message, buffersOf(value));

  async function answer({ number, verb, args, options }) {
    try {
      const value = await service.ask(verb, args, options, (each) => send({ number, each }, each));
      send({ number, value }, value);
    } catch ({ name, message }) {
      postMessage({ number, error: { name, message } });
    }
  }

  onmessage = ({ data }) => {
    if (data.model) {
      try {
        service = new Service(data.model);
        // Return what the kernel has copied: a page frees memory sooner than a worker.
        const spent = service.hasCopied ? [data.model.weights.buffer] : [];
        postMessage({ ready: { kernel: service.kernelName }, spent }, spent);
      } catch ({ name, message }) {
        postMessage({ failed: { name, message } });
      }
    } else if (data.givenUp) service.giveUp(data.givenUp);
    else answer(data);
  };
  postMessage({ begun: true });
}

// The buffers of all arrays in a value, each once.
function buffersOf(value, buffers = new Set()) {
  if (ArrayBuffer.isView(value)) buffers.add(value.buffer);
  else if (value && typeof value === "object") Object.values(value).forEach((each) => buffersOf(each, buffers));
  return [...buffers];
}
