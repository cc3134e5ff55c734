/**
 * Health check of a container that has no port: `node deploy/probe.ts brain`. Asks the service for its checks over the
 * bus, as that service's own user; the first of its processes answers. Exit code 0 when nothing fails.
 */
import { readFileSync } from 'node:fs';
import { type Check, SUBJECTS } from '@svc/contract/discovery.ts';
import { connectNatsBus } from '@svc/runtime/bus.nats.ts';
import { readConfig } from '@svc/runtime/config.ts';

const WITHIN_MS = 3000;

const service = process.argv[2] ?? '';
const { config } = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
// The engine ends a probe that cannot connect.
const bus = await connectNatsBus({
  urls: [config.NATS_URL ?? ''],
  name: `probe of ${service}`,
  inboxPrefix: `_INBOX_${service}`,
  log: console,
});
const reply = await bus.request(SUBJECTS.checks(service), '', { deadlineAt: Date.now() + WITHIN_MS });
const failed = (JSON.parse(reply) as Check[]).filter(({ status }) => status === 'fail');
if (failed.length > 0) console.error(`failing: ${failed.map(({ name }) => name).join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;
await bus.close();
