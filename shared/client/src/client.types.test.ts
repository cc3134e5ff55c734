import { describe, expectTypeOf, it } from 'vitest';
import { type Client, isRefusal, type RefusalError } from './client.ts';

/** Never runs: the compiler is what tests here. */
function typed(client: Client, error: unknown): void {
  it('knows arguments and result', async () => {
    const note = await client.call('svc_get_memory', { category: 'notes', filename: 'tides' });
    expectTypeOf(note.content).toEqualTypeOf<string>();
    // @ts-expect-error -- an argument is missing
    await client.call('svc_get_memory', { category: 'notes' });
    // @ts-expect-error -- no such argument
    await client.call('svc_get_memory', { category: 'notes', filename: 'tides', fileName: 'tides' });
    // @ts-expect-error -- no such tool
    await client.call('svc_get_memories', {});
    // @ts-expect-error -- the arguments are not optional
    await client.call('svc_set_memory');
    // @ts-expect-error -- not one of its words
    await client.call('svc_sync', { direction: 'sideways' });
    await client.call('svc_health');
    await client.call('svc_health', {}, { timeoutMs: 1000 });
    await client.call('agent_list', { limit: undefined });
  });

  it('knows refusals', async () => {
    const answer = await client.ask('svc_sync', { direction: 'push' });
    if (answer.ok) expectTypeOf(answer.result.status).not.toBeAny();
    else {
      expectTypeOf(answer.code).extract<'E_REMOTE_AUTH'>().toEqualTypeOf<'E_REMOTE_AUTH'>();
      expectTypeOf(answer.code).extract<'E_BUDGET'>().toBeNever();
      expectTypeOf(answer.data.synced).toEqualTypeOf<false>();
    }
    if (isRefusal(error, 'agent_kill')) {
      expectTypeOf(error).toExtend<RefusalError<'agent_kill'>>();
      expectTypeOf(error.code).toEqualTypeOf<'AGENT_NOT_FOUND'>();
    }
    // @ts-expect-error -- the tool has no such refusal
    isRefusal(error, 'agent_kill', 'E_BUDGET');
    if (isRefusal(error, 'svc_set_memory', 'E_CONFLICT')) expectTypeOf(error.code).toEqualTypeOf<'E_CONFLICT'>();
  });
}

describe('the types of the client', () => {
  it('are checked by the compiler', () => {
    expectTypeOf(typed).toBeFunction();
  });
});
