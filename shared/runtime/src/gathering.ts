/** Questions of one turn of the event loop as one message: what many callers want at once costs one crossing of the bus. */
import { MOST_GATHERED } from '@svc/contract/operation.ts';

/** Resolves with the answer to this one. */
type Gathering<Asked, Answer> = (asked: Asked) => Promise<Answer>;

interface Waiting<Asked, Answer> extends PromiseWithResolvers<Answer> {
  readonly asked: Asked;
}

/** `send` answers in the order of what is asked; what it throws meets all of them. Nobody waits for an earlier message. */
export function createGathering<Asked, Answer>(
  send: (asked: readonly Asked[]) => Promise<readonly Answer[]>,
): Gathering<Asked, Answer> {
  let waiting: Waiting<Asked, Answer>[] = [];

  async function sendOne(some: readonly Waiting<Asked, Answer>[]): Promise<void> {
    try {
      const answers = await send(some.map(({ asked }) => asked));
      if (answers.length !== some.length) throw new Error(`${some.length} questions have ${answers.length} answers`);
      for (const [index, { resolve }] of some.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }

  function sendAll(): void {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += MOST_GATHERED) void sendOne(all.slice(from, from + MOST_GATHERED));
  }

  return (asked) => {
    if (waiting.length === 0) setImmediate(sendAll);
    const mine = { asked, ...Promise.withResolvers<Answer>() };
    waiting.push(mine);
    return mine.promise;
  };
}
