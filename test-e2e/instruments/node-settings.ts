/** Settings of a node, for as long as a scenario needs them. */
import type { Caller } from '../client.ts';
import { waitFor } from './wait-for.ts';

/** Leaves the node without them, whatever comes of the work. */
export async function withSettings<Result>(
  operator: Caller,
  settings: Readonly<Record<string, unknown>>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    for (const [key, value] of Object.entries(settings)) await operator.ok('svc_config_set', { key, value });
    return await work();
  } finally {
    // Of a node that is still coming back the next scenario would get one with these settings.
    for (const key of Object.keys(settings))
      await waitFor(() => operator.ok('svc_config_set', { key, value: null }), {
        what: `an end of ${key}`,
        ignoreErrors: () => true,
      });
  }
}
