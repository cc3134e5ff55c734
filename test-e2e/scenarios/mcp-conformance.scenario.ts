/** The official conformance runner against the door that agents use, in the room that has what the runner asks of a server. */
import { expect } from 'vitest';
import { type Finding, runConformance } from '../instruments/conformance.ts';
import { verifies } from '../verifies.ts';

/** Checks that do not pass, each with its reason. One that begins to pass has to leave the list. */
const UNMET: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2026-07-28': {
    'tasks-status-notifications/tasks-status-notifications':
      'The runner skips it until it can observe notifications where this revision sends them; we send none, which is optional.',
  },
  '2025-11-25': {},
};

/** Scenarios in which the runner can look at nothing, because a server may do without what they look at. */
const NOTHING_SEEN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2026-07-28': {},
  '2025-11-25': {
    'server-sse-polling':
      'Streams cannot be resumed, which is optional: clients call again under their idempotency key.',
  },
};

/** As many as the runner of that version has for a server, so that none is lost unnoticed. */
const SCENARIOS: Readonly<Record<string, number>> = { '2026-07-28': 50, '2025-11-25': 33 };

verifies(
  'mcp:conformance',
  async ({ gateways, report }) => {
    const place = await gateways(1, { SVC_CONFORMANCE: 'on', SVC_KEYLESS: 'on', SVC_RATE_LIMIT: 'off' });
    for (const revision of Object.keys(UNMET)) {
      const findings = await runConformance(`${place.gateways[0]}/mcp/conformance`, revision);
      const scenarios = new Set(findings.map(({ scenario }) => scenario));
      const seen = new Set(findings.filter(isVerdict).map(({ scenario }) => scenario));
      const bad = findings.filter(({ status }) => status !== 'SUCCESS' && status !== 'INFO');
      const names = new Set(bad.map(({ scenario, check }) => `${scenario}/${check}`));
      expect([...names].sort(), JSON.stringify(bad, null, 1)).toEqual(Object.keys(UNMET[revision] ?? {}).sort());
      expect([...scenarios].filter((name) => !seen.has(name))).toEqual(Object.keys(NOTHING_SEEN[revision] ?? {}));
      expect(scenarios.size).toBe(SCENARIOS[revision]);
      const passed = findings.filter(({ status }) => status === 'SUCCESS').length;
      report(`conformance ${revision}: ${passed} checks of ${scenarios.size} scenarios pass, ${names.size} named`);
    }
  },
  { timeoutMs: 480_000 },
);

function isVerdict({ status }: Finding): boolean {
  return status !== 'INFO';
}
