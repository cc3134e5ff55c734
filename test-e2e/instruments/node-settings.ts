/** Settings of a node, for as long as a scenario needs them. */
import type { Caller } from '../client.ts';

/** Leaves the node without them, whatever comes of the work. */
export async function withSettings(
  operator: Caller,
  settings: Readonly<Record<string, unknown>>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    for (const [key, value] of Object.entries(settings)) await operator.ok('svc_config_set', { key, value });
    await work();
  } finally {
    for (const key of Object.keys(settings)) await operator.ok('svc_config_set', { key, value: null });
  }
}
