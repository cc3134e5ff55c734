/** What runs and fetches for callers here, as its probes found it. */
import { TimestampMs } from '@svc/contract/params.ts';
import { z } from 'zod';
import { ENGINE } from './compute/sandbox.ts';
import type { Probe } from './kept-probe.ts';
import { defineSandboxTool } from './sandbox-deps.ts';

const ProbeShown = z
  .strictObject({
    at: TimestampMs,
    ok: z.boolean(),
    checks: z.array(z.strictObject({ name: z.string(), ok: z.boolean() })),
  })
  .nullable()
  .describe('Null while it is off, or where there is nothing to probe.');
const count = z.int();

function shown(probe: Probe | null): z.output<typeof ProbeShown> {
  return probe === null ? null : { ...probe, checks: [...probe.checks] };
}

function isOk(probe: Probe | null): boolean {
  return probe?.ok === true;
}

function modeOf(enabled: readonly boolean[], ready: readonly boolean[]): 'off' | 'partial' | 'on' {
  if (ready.every(Boolean)) return 'on';
  return enabled.some(Boolean) ? 'partial' : 'off';
}

export const sandboxStatus = defineSandboxTool({
  name: 'svc_sandbox_status',
  area: 'shell',
  description: 'Which of code, programs and fetches are switched on, and what the probes of their sandboxes found.',
  input: z.strictObject({}),
  output: z.strictObject({
    mode: z.enum(['off', 'partial', 'on']).describe('on: all of them are switched on and proven.'),
    compute: z.strictObject({ enabled: z.boolean(), ready: z.boolean(), engine: z.string(), probe: ProbeShown }),
    shell: z.strictObject({
      enabled: z.boolean(),
      ready: z.boolean(),
      sandbox: z.literal('bubblewrap'),
      version: z.string().nullable().describe('Null while it is off, or where it is not installed.'),
      probe: ProbeShown,
      allow: z.array(z.string()),
    }),
    network: z.strictObject({ enabled: z.boolean(), allow: count.describe('Hosts and patterns that are listed.') }),
    counters: z
      .strictObject({ compute: count, shell: count, network: count, refused: count, killed: count })
      .describe('Of the process that answers.'),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_given, { deps, caller }) {
    const { registry, compute, shell, network } = deps;
    const stamp = caller.registry;
    const [ofCompute, ofShell, ofNetwork, allow, hosts] = await Promise.all([
      registry.setting('compute.enabled', stamp),
      registry.setting('shell.enabled', stamp),
      registry.setting('network.enabled', stamp),
      registry.setting('shell.allow', stamp),
      registry.setting('network.allow', stamp),
    ]);
    const [computeProbe, shellProbe, version] = await Promise.all([
      ofCompute ? compute.probe() : null,
      ofShell ? shell.probe() : null,
      ofShell ? shell.version() : null,
    ]);
    const enabled = [ofCompute, ofShell, ofNetwork];
    const ready = [isOk(computeProbe), isOk(shellProbe), ofNetwork];
    const mode = modeOf(enabled, ready);
    const counted = { compute: compute.counters(), shell: shell.counters() };
    return {
      mode,
      compute: {
        enabled: ofCompute,
        ready: isOk(computeProbe),
        engine: ENGINE.name,
        probe: shown(computeProbe),
      },
      shell: {
        enabled: ofShell,
        ready: isOk(shellProbe),
        sandbox: 'bubblewrap' as const,
        version,
        probe: shown(shellProbe),
        allow: [...allow],
      },
      network: { enabled: ofNetwork, allow: hosts.length },
      counters: {
        compute: counted.compute.runs,
        shell: counted.shell.runs,
        network: network.counters().fetches,
        refused: deps.refusals.count(),
        killed: counted.compute.killed + counted.shell.killed,
      },
    };
  },
});
