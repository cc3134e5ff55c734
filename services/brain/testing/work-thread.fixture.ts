/** A thread that does what a test tells it to: deaths are counted in memory that outlives it. */
import { answerQuestions } from '../src/thread/answer-questions.ts';

export type FixtureQuestion =
  | { readonly say: string }
  | { readonly fail: string }
  | { readonly die: Int32Array; readonly times: number }
  | { readonly spin: true };

answerQuestions((question: FixtureQuestion): string => {
  if ('say' in question) return question.say;
  if ('fail' in question) throw new TypeError(question.fail);
  if ('spin' in question) for (;;);
  if (Atomics.add(question.die, 0, 1) < question.times) process.exit(1);
  return `alive after ${Atomics.load(question.die, 0) - 1}`;
});
