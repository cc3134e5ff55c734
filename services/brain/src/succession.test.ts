import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineOperations } from '@svc/contract/operation.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { HABITAT } from '@svc/contract/operations.habitat.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import { systemClock } from '@svc/runtime/clock.ts';
import { sharerLock } from '@svc/runtime/data-lock.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createOperationClient, serveOperations } from '@svc/runtime/operations.ts';
import { createRegistryClient } from '@svc/runtime/registry.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type BrainNode, type BrainTestBed, openBrainTestBed } from '../testing/brain-test-bed.ts';
import { LegacyLayout } from './legacy-layout.ts';
import { tellOfImport } from './succession.ts';

const log = createLog('silent', {});
const platform = { clock: systemClock, log };

const SUCCESSIONS = defineOperations(HABITAT.service, { succession: HABITAT.declared.succession });

let bed: BrainTestBed;
let legacy: string;
let bus: Bus;
let telling: ReturnType<typeof tellOfImport> | null = null;

beforeEach(async () => {
  bed = await openBrainTestBed();
  legacy = join(mkdtempSync(join(tmpdir(), 'brain-legacy-')), 'old');
  mkdirSync(legacy);
  bus = createLocalBus();
});
afterEach(async () => {
  await telling?.stop();
  telling = null;
  await bus.close();
  rmSync(join(legacy, '..'), { recursive: true });
  await bed[Symbol.asyncDispose]();
});

/** What a process says that starts on the bed's directory after the node before it has ended. */
async function begin(): Promise<LegacyLayout> {
  const layout = new LegacyLayout({ dataDir: bed.dataDir, legacyDirs: [legacy], platform });
  await layout.open();
  telling = tellOfImport(layout, createRegistryClient({ ...platform, bus }, 'brain'), log);
  return layout;
}

const version = ({ bus: at }: BrainNode) =>
  createOperationClient({ ...platform, bus: at }, BRAIN, 'habitat').layout({});

function hearTold(): unknown[] {
  const told: unknown[] = [];
  void serveOperations(
    { ...platform, bus },
    {
      operations: SUCCESSIONS,
      handlers: {
        async succession(inherited) {
          told.push(inherited);
          return {};
        },
      },
      deps: null,
    },
  );
  return told;
}

it('tells of an import, at every start, for nothing here remembers that it was heard', async () => {
  writeFileSync(join(legacy, 'first.md'), 'a lesson');
  const node = await bed.start({ SVC_LEGACY_DIR: legacy });
  expect(await version(node)).toEqual({ version: 3 });
  await node.stop();
  for (let start = 0; start < 2; start += 1) {
    const told = hearTold();
    await begin();
    await expect.poll(() => told).toEqual([{ previousBrain: 'old', at: expect.any(Number) }]);
    await telling?.stop();
    await bus.close();
    bus = createLocalBus();
  }
});

it('goes on telling until somebody hears it, without keeping the start waiting', async () => {
  writeFileSync(join(legacy, 'first.md'), 'a lesson');
  await (await bed.start({ SVC_LEGACY_DIR: legacy })).stop();
  await begin();
  const told = hearTold();
  await expect.poll(() => told).toHaveLength(1);
});

it('has nothing to tell of a fresh brain, and no version before an import is complete', async () => {
  await (await bed.start()).stop();
  const told = hearTold();
  expect((await begin()).inheritance()).toBeNull();
  await telling?.stop();
  expect(told).toEqual([]);
  rmSync(join(bed.dataDir, 'layout.json'));
  writeFileSync(join(legacy, 'broken.md'), new Uint8Array([0xff, 0x00]));
  const node = await bed.start({ SVC_LEGACY_DIR: legacy });
  expect(await version(node)).toEqual({ version: null });
  await node.stop();
});

it('never takes the locks of the directory for an old brain', async () => {
  const lock = sharerLock(bed.dataDir);
  for (const file of [lock, `${lock}.17-0badcafe`, join(bed.dataDir, 'service.lock.takeover')])
    writeFileSync(file, '1 2 3');
  const node = await bed.start();
  expect(await node.call('brain_list_files', {})).toMatchObject({ files: [] });
  await node.stop();
  expect((await begin()).inheritance()).toBeNull();
});

it('never takes the files of the audit for an old brain', async () => {
  mkdirSync(join(bed.dataDir, 'audit'));
  writeFileSync(join(bed.dataDir, 'audit', 'checkpoints'), '{}');
  const node = await bed.start();
  expect(await node.call('brain_list_files', {})).toMatchObject({ files: [] });
  await node.stop();
  expect((await begin()).inheritance()).toBeNull();
});
