/** After the processes of a brain were killed: another has it only when the first is known to be dead. */
import { type Caller, codeOf } from '../client.ts';
import { waitFor } from './wait-for.ts';

/** Resolves when the brain answers. */
export async function brainServed(user: Caller, brain: string): Promise<void> {
  const isServed = async () => codeOf(await user.call('svc_memory_stats', { brain })) === null;
  await waitFor(isServed, { what: `${brain} to be served`, ignoreErrors: () => true });
}
