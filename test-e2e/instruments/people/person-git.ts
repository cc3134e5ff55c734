/** What a person does with git, and what that may take away from whom. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Ended, type Ground, personGit } from './ground.ts';
import type { Act } from './plan.ts';

type Performed = (ground: Ground, act: Act) => Promise<string>;

const ATTEMPTS = 6;
const BEFORE_NEXT_ATTEMPT_MS = 40;
/** Git's own words for "somebody else is at it". */
const IN_USE = /\.lock': File exists|cannot lock ref|unable to write new index file|Unable to create/;

export const PERSON_GIT_ACTS: Readonly<Record<string, Performed>> = {
  status: plain('status', '--porcelain'),
  'collect-garbage': plain('gc', '-q'),
  commit: plain('commit', '-q', '-m', 'by hand'),
  'commit-all': plain('commit', '-q', '-a', '-m', 'all by hand'),
  stage: ({ folder }, { path }) => persistently(folder, 'add', '--', path),
  async 'commit-everything'({ folder }) {
    const staged = await persistently(folder, 'add', '-A');
    return `${staged}, ${await persistently(folder, 'commit', '-q', '-m', 'everything by hand')}`;
  },
  'checkout-own': meanwhile(async ({ folder }) => {
    const made = await personGit(folder, 'checkout', '-q', '-b', 'own');
    return made.ok ? told(made) : persistently(folder, 'checkout', '-q', 'own');
  }),
  'checkout-main': meanwhile(plain('checkout', '-q', 'main')),
  merge: meanwhile(({ folder }, { nth }) =>
    persistently(folder, 'merge', '-q', '--no-edit', nth % 2 === 0 ? 'side' : 'own'),
  ),
  stash: meanwhile(setAside),
  unstash: meanwhile(plain('stash', 'pop', '-q')),
  async 'checkout-file'({ folder, history }, { path }) {
    const from = performance.now();
    const outcome = await persistently(folder, 'checkout', '-q', '--', path);
    history.erased({ path, by: 'person', from, to: performance.now() });
    return outcome;
  },
  'reset-soft': takingBack('--soft'),
  'reset-mixed': takingBack('--mixed'),
  async 'reset-hard'({ folder, history }, { nth }) {
    const from = performance.now();
    const outcome = await persistently(folder, 'reset', '-q', '--hard', nth % 2 === 0 ? 'HEAD~1' : 'HEAD');
    history.removed({ deletes: false, path: null, from, to: performance.now() }, 'person');
    return outcome;
  },
};

function plain(...args: readonly string[]): Performed {
  return ({ folder }) => persistently(folder, ...args);
}

/** Git refuses to overwrite what is not committed, or keeps it; it may miss what comes while it works. */
function meanwhile(perform: Performed): Performed {
  return async (ground, act) => {
    const from = performance.now();
    const outcome = await perform(ground, act);
    ground.history.removed({ deletes: false, path: null, from, to: performance.now() }, 'person', {
      onlyMeanwhile: true,
    });
    return outcome;
  };
}

/** What was not committed when the stash was made is taken from the tree, also when somebody commits it meanwhile. */
async function setAside({ folder, history }: Ground, { nth }: Act): Promise<string> {
  const from = performance.now();
  const outcome = await persistently(folder, 'stash', 'push', '-q', ...(nth % 2 === 0 ? ['-u'] : []));
  history.sweeps.push({ from, to: performance.now() });
  const paths = await setAsidePaths(folder);
  for (const path of paths) history.removals.push({ deletes: true, path, from, to: performance.now() });
  return outcome;
}

/** Of every stash there is: git may set files aside, find the index locked and be asked again. */
async function setAsidePaths(folder: string): Promise<string[]> {
  const stashes = (await personGit(folder, 'stash', 'list', '--format=%H')).output.split('\n').filter(Boolean);
  const asked = stashes.flatMap((id) => [
    personGit(folder, 'diff', '-z', '--no-renames', '--name-only', '--diff-filter=A', `${id}^1`, id),
    personGit(folder, 'ls-tree', '-r', '-z', '--name-only', `${id}^3`),
  ]);
  return (await Promise.all(asked)).flatMap(({ ok, output }) => (ok ? output.split('\0') : []));
}

/** The files stay; what only the commit held (the state before a merge, say) is given up. */
function takingBack(how: string): Performed {
  return async ({ folder, history }) => {
    const from = performance.now();
    const outcome = await persistently(folder, 'reset', '-q', how, 'HEAD~1');
    history.erased({ path: null, by: 'person', from, to: performance.now() });
    return outcome;
  };
}

/** Again while somebody else holds git's lock, as a person would. */
async function persistently(folder: string, ...args: readonly string[]): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const ended = await personGit(folder, ...args);
    if (ended.ok || attempt === ATTEMPTS || !IN_USE.test(ended.output)) return told(ended);
    await delay(BEFORE_NEXT_ATTEMPT_MS);
  }
}

function told({ ok, output }: Ended): string {
  return ok ? 'done' : `git: ${output.slice(0, 160).replaceAll('\n', ' | ')}`;
}
