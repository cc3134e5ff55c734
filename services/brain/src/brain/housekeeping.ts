/** Packing of the brains of this process: one at a time, never twice at once, beside the writers. */
import { createTurn } from '@svc/runtime/turns.ts';
import { expireRescues } from '../git/refs.ts';
import { maintainRepository, packWhenDue } from '../git/maintenance.ts';
import type { OpenBrain } from './open-brain.ts';

const RESCUES_KEPT_MS = 90 * 24 * 60 * 60_000;
/** So many commits may bring as many objects as make packing due. */
const COMMITS_BETWEEN_LOOKS = 200;

const oneAtATime = createTurn();

/** In its turn after what others asked for; what fails is told and tried again another time. */
function inTurn(brain: OpenBrain, work: () => Promise<unknown>): Promise<void> {
  const { platform, name } = brain.context;
  return oneAtATime(work).then(
    () => undefined,
    (error: unknown) => platform.log.warn({ err: error, brain: name }, 'a repository could not be packed'),
  );
}

/** Everything that is due once a day. */
export function maintainBrain(brain: OpenBrain): Promise<void> {
  const { repository, platform } = brain.context;
  return inTurn(brain, async () => {
    const now = platform.clock.now();
    await expireRescues(repository, new Date(now - RESCUES_KEPT_MS), new Date(now));
    await maintainRepository(repository);
  });
}

export function packBrainWhenDue(brain: OpenBrain): Promise<void> {
  return inTurn(brain, () => packWhenDue(brain.context.repository));
}

const commitsSinceLook = new WeakMap<OpenBrain, number>();

/** A commit was made; packing may be due. Nobody waits for it. */
export function noteCommit(brain: OpenBrain): void {
  const count = (commitsSinceLook.get(brain) ?? 0) + 1;
  commitsSinceLook.set(brain, count % COMMITS_BETWEEN_LOOKS);
  if (count === COMMITS_BETWEEN_LOOKS) void packBrainWhenDue(brain);
}
