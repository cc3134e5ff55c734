/** Crews on the real registry, ledger and votes; how the brain takes their notes is for the test to say, or it is the real one. */
import { agoraService } from '@svc/agora/service.ts';
import { brainService } from '@svc/brain/service.ts';
import { allow } from '@svc/contract/decision.ts';
import type { Envelope } from '@svc/contract/rpc.ts';
import { defineOperations } from '@svc/contract/operation.ts';
import { AGORA } from '@svc/contract/operations.agora.ts';
import { BRAIN } from '@svc/contract/operations.brain.ts';
import { escrowService } from '@svc/escrow/service.ts';
import { habitatService } from '@svc/habitat/service.ts';
import { createLocalBus } from '@svc/runtime/bus.local.ts';
import type { Bus } from '@svc/runtime/bus.ts';
import type { Database } from '@svc/runtime/database.ts';
import { createOperationClient, type Handlers, serveOperations } from '@svc/runtime/operations.ts';
import { startService } from '@svc/runtime/service.ts';
import { callTool, type Fields, platformOn } from '@svc/testing/service-bed.ts';
import { universeService } from '../src/service.ts';

const { noteResolution } = BRAIN.declared;
const NOTES = defineOperations('brain', { noteResolution });
export type Note = Handlers<typeof NOTES, null>['noteResolution'];

interface CrewBedOptions {
  readonly bus?: Bus;
  /** Of the real brain; absent = its notes are taken by the test. */
  readonly dataDir?: string;
}

export async function openCrewBed(database: Database, { bus: given = createLocalBus(), dataDir }: CrewBedOptions = {}) {
  // A clock that runs ahead, so that nobody waits for real.
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs };
  const directory = dataDir === undefined ? {} : { SVC_DATA_DIR: dataDir };
  const platform = platformOn(database, { clock, bus: given }, directory);
  const { bus, log } = platform;
  const noted: Note = async ({ id }) => allow({ id, at: 1 });
  let note = noted;
  const handlers = { noteResolution: (...asked: Parameters<Note>) => note(...asked) };
  const habitat = await startService(platform, habitatService);
  const others: { stop(): Promise<void> }[] = [
    await startService(platform, escrowService),
    await startService(platform, agoraService),
  ];
  if (dataDir !== undefined) others.push(await startService(platform, brainService));
  const notes =
    dataDir === undefined
      ? await serveOperations({ bus, clock, log }, { operations: NOTES, handlers, deps: null })
      : null;
  const universe = await startService(platform, universeService);
  const call = async (
    tool: string,
    args: Fields,
    service = 'universe',
    over: Partial<Envelope> = {},
  ): Promise<Fields> => (await callTool(bus, service, tool, args, over)).fields;
  return {
    call,
    universe,
    habitat,
    votes: createOperationClient(platform, AGORA, 'universe'),
    /** How notes are taken from now on; absent = as they should be. */
    takeNotes(how: Note = noted): void {
      note = how;
    },
    advance(ms: number): void {
      aheadMs += ms;
    },
    async stop(): Promise<void> {
      await universe.stop();
      for (const service of [...others, habitat]) await service.stop();
      await notes?.drain();
      await platform.jobs.close();
      await bus.close();
    },
  };
}
