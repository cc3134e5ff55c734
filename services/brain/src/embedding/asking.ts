/** How much an endpoint is asked at once, and for how long nobody is made to wait for one that has just failed. */
import { EndpointFault } from './endpoint.ts';

const PAUSE_MS = 10_000;

interface AskingOptions {
  readonly atOnce: number;
  /** Monotonic, in milliseconds. */
  now(): number;
}

export type Asking = ReturnType<typeof createAsking>;

export function createAsking({ atOnce, now }: AskingOptions) {
  let asking = 0;
  let failed: { readonly fault: EndpointFault; readonly at: number } | null = null;

  /** Remembers how it ended. What it does not take is about the question, and says nothing against the endpoint. */
  async function noted<Value>(work: Promise<Value>): Promise<Value> {
    try {
      const value = await work;
      failed = null;
      return value;
    } catch (error) {
      if (error instanceof EndpointFault && error.kind !== 'input') failed = { fault: error, at: now() };
      throw error;
    }
  }

  return {
    noted,
    /** Throws EndpointFault; at once where there is no room, and after a failure for a while to those who need not have it. */
    async run<Value>(need: 'must' | 'may', work: () => Promise<Value>): Promise<Value> {
      if (need === 'may' && failed !== null && now() - failed.at < PAUSE_MS) throw failed.fault;
      if (asking >= atOnce) throw new EndpointFault('busy');
      asking += 1;
      try {
        return await noted(work());
      } finally {
        asking -= 1;
      }
    },
    /** What was wrong the last time; null = nothing. */
    trouble: (): string | null => failed?.fault.message ?? null,
  };
}
