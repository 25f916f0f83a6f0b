const BYTES = "base64 bytes"; // as in headlight/components/standalone.py

// What the page is told of lessons, the answers that are in it made readable.
export function opened(told) {
  const readable = (step) => {
    const text = step.answer?.[BYTES];
    if (text === undefined) return step;
    return { ...step, answer: JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)))) };
  };
  return { ...told, lessons: told.lessons.map((lesson) => ({ ...lesson, steps: lesson.steps.map(readable) })) };
}
