/** A registry that makes one audited change and is killed before, or after, the audit's chains have taken the entry. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import { OPERATION_SUBJECTS } from '@svc/contract/operation.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { readConfig } from '@svc/runtime/config.ts';
import { openEmbeddedDatabase } from '@svc/runtime/database.embedded.ts';
import { openHabitatTestBed } from './habitat-test-bed.ts';

const [, , directory = '', point = ''] = process.argv;
const log = { warn() {}, fatal() {} };

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** The answer to whoever handed entries over gets lost with the process. */
function dieWhenTaken(bus: Bus): void {
  const respond = bus.respond.bind(bus);
  bus.respond = (subject, handler, options) => {
    const answer = async (payload: string, asked: string): Promise<string | null> => {
      const reply = await handler(payload, asked);
      if (asked === OPERATION_SUBJECTS.one(HABITAT.service, 'habitat', 'audit')) die();
      return reply;
    };
    return respond(subject, answer, options);
  };
}

const bed = await openHabitatTestBed(() => openEmbeddedDatabase({ directory: join(directory, 'database'), log }));
rmSync(bed.dataDir, { recursive: true });
const { config } = readConfig({ SVC_DATA_DIR: directory }, () => '');
const bus = createLocalBus();
if (point === 'after') dieWhenTaken(bus);
const node = await bed.start({ config, bus });
await node.call('trust_setRequired', { permission: 'vote', minTrust: 0.6 });
if (point === 'before') die();
setTimeout(() => process.exit(3), 20_000);
