import { toolFor } from '@svc/contract/tool.ts';
import type { Random } from '@svc/runtime/clock.ts';
import type { Crews } from './crews/crews.ts';
import type { CronDeps } from './cron/cron.ts';
import type { InnerCalls } from './inner-calls.ts';
import type { DoorDeps } from './doors-deps.ts';
import type { OperationStore } from './recursion/operation-store.ts';
import type { Registry } from './registry.ts';
import type { SandboxDeps } from './sandbox-deps.ts';
import type { InboxStore } from './streams/inbox-store.ts';
import type { StreamStore } from './streams/stream-store.ts';
import type { WorkStore } from './streams/work-store.ts';
import type { Worlds } from './worlds/worlds.ts';

/** What the tools of the universe work with. */
export interface UniverseDeps extends SandboxDeps, DoorDeps {
  readonly registry: Registry;
  readonly random: Random;
  readonly streams: StreamStore;
  readonly work: WorkStore;
  readonly inboxes: InboxStore;
  readonly crews: Crews;
  readonly calls: InnerCalls;
  readonly cron: CronDeps;
  readonly operations: OperationStore;
  readonly worlds: Worlds;
}

export const defineTool = toolFor<UniverseDeps>();
