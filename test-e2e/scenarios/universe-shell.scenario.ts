/** Programs of callers on a real node: off, without a sandbox, and in it. */
import { findBubblewrap } from '@svc/testing/servers/bubblewrap.ts';
import { expect } from 'vitest';
import { createMembers, memberAt } from '../instruments/members.ts';
import { withSettings } from '../instruments/node-settings.ts';
import { ownTarget, verifies } from '../verifies.ts';

const TOOLS = ['svc_shell_exec', 'svc_shell_capture', 'svc_shell_spawn'];
const bare = ownTarget({ SVC_BUBBLEWRAP: '/nonexistent/bwrap' });

const SHELL_ON = { 'shell.enabled': true };

verifies('sandbox:shell-off', async ({ caller }) => {
  const operator = caller();
  for (const tool of TOOLS) {
    expect(await operator.refused('E_DISABLED', tool, { cmd: 'true' })).toMatchObject({ needs: ['shell.enabled'] });
  }
  expect(await operator.ok('svc_sandbox_status')).toMatchObject({
    shell: { enabled: false, ready: false, version: null },
  });
});

verifies(
  'sandbox:shell-absent',
  async ({ caller }) => {
    const operator = caller();
    await withSettings(operator, SHELL_ON, async () => {
      for (const tool of TOOLS) {
        expect(await operator.refused('E_DISABLED', tool, { cmd: 'true' })).toMatchObject({ needs: ['sandbox'] });
      }
      const { shell } = await operator.ok('svc_sandbox_status');
      expect(shell).toMatchObject({ enabled: true, ready: false, version: null, probe: null });
    });
  },
  { on: bare },
);

verifies('sandbox:shell-on', async ({ place, caller, socket, report }) => {
  if (findBubblewrap() === null) return report('SKIPPED: programs in the sandbox, because there is no bubblewrap');
  const operator = caller();
  await withSettings(operator, SHELL_ON, async () => {
    const { shell } = await operator.ok('svc_sandbox_status');
    expect(shell).toMatchObject({ enabled: true, ready: true, version: expect.any(String), probe: { ok: true } });
    const ann = memberAt(await createMembers(place, 'viewer'), 0);
    await ann.caller.fails('FORBIDDEN', 'svc_shell_exec', { cmd: 'true' });
    await operator.ok('sudo_grant', { agentId: ann.id, capability: 'exec' });
    const ears = await socket({ gateway: 1 });
    const run = (cmd: string, more = {}) => ann.caller.ok('svc_shell_exec', { cmd, ...more });
    expect(await run("echo 'a b'")).toMatchObject({ ok: true, exitCode: 0, stdout: 'a b\n' });
    for (const cmd of ['echo a; id', 'cat $(x)', 'cat `x`'])
      await ann.caller.refused('E_SHELL_SYNTAX', 'svc_shell_exec', { cmd });
    for (const cmd of ['bash -c id', '/bin/cat x'])
      await ann.caller.refused('E_SHELL_DENIED', 'svc_shell_exec', { cmd });
    expect(await run('cat /etc/passwd')).toMatchObject({ ok: false, stdout: '' });
    expect(await run('tail -f /dev/null', { timeout: 500 })).toMatchObject({ exitCode: null, timedOut: true });
    const { jobId } = await ann.caller.ok('svc_shell_spawn', { cmd: 'tail -f /dev/null' });
    const job = await ann.caller.with({ gateway: 1 }).ok('svc_shell_capture', { jobId });
    expect(job).toMatchObject({ jobId, state: 'running', exitCode: null });
    for (const name of ['shell:ran', 'shell:spawned']) {
      await ears.until(name, (event) => event.name === name && event['by'] === ann.id);
    }
  });
});
