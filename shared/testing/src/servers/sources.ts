/** Where a test server comes from: the first source that has one. */
import { skipped, type TestServer } from './processes.ts';

/** How often a private server is tried when something else took its port first. */
const ATTEMPTS = 4;

/** Asks each source in turn; a source answers null when it has none, and throws when one failed to start. */
export async function firstThatStarts(
  what: string,
  sources: readonly (() => Promise<TestServer | null>)[],
): Promise<TestServer | null> {
  let failure: unknown;
  for (const start of sources) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      try {
        const server = await start();
        if (server !== null) return server;
        break;
      } catch (error) {
        failure = error;
      }
    }
  }
  return skipped(what, failure instanceof Error ? failure.message : 'no container engine and no local binary');
}
