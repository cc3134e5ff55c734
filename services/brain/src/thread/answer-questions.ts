/** The side of a work thread that does the work. */
import { parentPort, type Transferable } from 'node:worker_threads';
import type { ThreadReply } from './work-thread.ts';

/** Answers one question after the other; what `work` throws is a bug, and told to whoever asked. */
export function answerQuestions<Answer>(
  work: (question: never) => Answer,
  moved: (answer: Answer) => Transferable[] = () => [],
): void {
  parentPort?.on('message', (question: unknown) => {
    let reply: ThreadReply<Answer>;
    try {
      reply = { answer: work(question as never) };
    } catch (bug) {
      reply = { bug: bug instanceof Error ? bug : new Error(String(bug)) };
    }
    parentPort?.postMessage(reply, 'answer' in reply ? moved(reply.answer) : []);
  });
}
