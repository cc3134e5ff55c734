/** Finishes or undoes what was cut off. Many may do it at once; the rows are the truth. */
import type { Platform } from '@svc/runtime/platform.ts';
import { finishOne } from '../finish-one.ts';
import type { Assembling } from './assembling.ts';
import { moveAssembly, readUnassembled, type Unassembled } from './crew-rows.ts';
import { isUndoable } from './domain/task.ts';
import { giveUp, type RunParts, runTask } from './running.ts';
import { readRested, readTask, sweepTasks, touchTask } from './task-rows.ts';

/** Longer than any answer is waited for: who was at it is gone. */
const RESTED_MS = 6000;
/** Without progress for so long it is undone. */
const GIVEN_UP_MS = 60_000;

interface Parts extends Omit<RunParts, 'log'> {
  readonly assembling: Assembling;
  readonly log: Pick<Platform['log'], 'error' | 'warn'>;
}

export type CrewReconciler = ReturnType<typeof createCrewReconciler>;

export function createCrewReconciler(parts: Parts) {
  const { client } = parts.store;
  return {
    /** `alone`: nobody else is at work, so that what is open was cut off. */
    async finish({ alone = false } = {}): Promise<void> {
      const restedMs = alone ? 0 : RESTED_MS;
      for (const crew of await readUnassembled(client, restedMs)) {
        await finishOne(parts.log, { crewId: crew.crewId }, () => assemble(parts, crew));
      }
      for (const taskId of await readRested(client, restedMs)) {
        const isDone = await finishOne(parts.log, { taskId }, () => settle(parts, taskId));
        if (!isDone) await touchTask(client, taskId);
      }
    },
    async sweep(): Promise<void> {
      while ((await sweepTasks(client)) > 0);
    },
  };
}

async function assemble({ assembling, store }: Parts, { crewId, step, ageMs }: Unassembled): Promise<void> {
  if (step === 'undo') return assembling.undo(crewId);
  const isOver = ageMs > GIVEN_UP_MS && (step === 'spawn' || (await assembling.isPoolless(crewId)));
  if (!isOver) return void (await assembling.goOn(crewId));
  await moveAssembly(store.client, crewId, { from: step, to: 'undo' });
  return assembling.undo(crewId);
}

async function settle(parts: Parts, taskId: string): Promise<void> {
  const task = await readTask(parts.store.client, taskId);
  if (task === null) return;
  if (isUndoable(task.state)) await giveUp(parts, task, null);
  try {
    await runTask(parts, taskId);
  } catch (error) {
    const state = (await readTask(parts.store.client, taskId))?.state;
    if (state !== 'undone') throw error;
  }
}
