/** Where a test server comes from: the first source that has one. */
import { skipped, type TestServer } from './processes.ts';

/** How often a private server is tried when something else took its port first. */
const ATTEMPTS = 4;

/** Asks each source in turn; a source answers null when it has none, and throws when one failed to start. */
export async function firstThatStarts<Server extends TestServer>(
  what: string,
  sources: readonly (() => Promise<Server | null>)[],
): Promise<Server | null> {
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

/**
 * A server of our own whatever `setting` gives, for suites that break it. Where none can be had they are skipped, unless one
 * was given: whoever gave it means them to run.
 */
export async function ourOwn(
  what: string,
  setting: string,
  sources: readonly (() => Promise<TestServer | null>)[],
): Promise<TestServer | null> {
  const server = await firstThatStarts(what, sources);
  if (server === null && process.env[setting])
    throw new Error(`the ${what} of ${setting} may not be broken, and there is no other`);
  return server;
}
