// Runs a TypeScript entry of this project under the pinned Node, on whatever Node (20 or newer) npm found.
// The first run installs with the pinned pnpm; later runs see that nothing changed and start at once.
// An entry in `deploy` runs the service and needs its dependencies alone; any other one needs those of development too.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inTurn } from './install-turn.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { toolchain } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Also said in deploy/Dockerfile. */
const PRODUCTION = "--prod --filter-prod '@svc/deploy...'";
const stampFile = join(root, 'node_modules', '.toolchain.json');
const turnFile = join(root, '.installing');
const STDERR = 2;

function fingerprint() {
  const hash = createHash('sha256').update(`${process.platform}-${process.arch}`);
  const manifests = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', 'toolchain/install.ts'];
  for (const group of ['services', 'shared'])
    for (const name of list(join(root, group))) manifests.push(`${group}/${name}/package.json`);
  for (const file of manifests)
    if (existsSync(join(root, file))) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function list(directory) {
  return existsSync(directory) ? readdirSync(directory).sort() : [];
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'));
  } catch {
    return null; // nothing is installed yet
  }
}

function installedNode(needed) {
  const stamp = readStamp();
  const enough = stamp?.kind === 'all' || stamp?.kind === needed;
  return enough && stamp.fingerprint === fingerprint() && existsSync(stamp.node) ? stamp.node : null;
}

/** What was installed whole stays so. What it says is no output of the entry. Null when it failed, and has said why. */
function install(needed) {
  const stamp = readStamp();
  const kind = stamp === null || stamp.kind === 'production' ? needed : 'all';
  const selection = kind === 'all' ? '' : ` ${PRODUCTION}`;
  const command = `pnpm install --frozen-lockfile${selection} && node toolchain/install.ts ${kind} ${fingerprint()}`;
  const packages = ['-p', `node@${toolchain.node}`, '-p', `pnpm@${toolchain.pnpm}`];
  const stdio = ['ignore', STDERR, STDERR];
  const { status } = spawnSync('npx', ['-y', ...packages, '-c', command], { cwd: root, stdio });
  if (status !== 0) {
    process.exitCode = status ?? 1;
    return null;
  }
  const node = installedNode(needed);
  if (!node) throw new Error('the installation left no usable stamp; remove node_modules and try again');
  return node;
}

/**
 * `args`: options of Node, the entry below the project, its arguments. This process ends as the entry does.
 * `withTools`: what the project has installed comes first in PATH.
 */
export function runPinned(args, { cwd, withTools }) {
  const at = args.findIndex((argument) => !argument.startsWith('-'));
  const entry = at === -1 ? '' : args[at];
  const needed = entry.startsWith('deploy/') ? 'production' : 'all';
  const node = installedNode(needed) ?? inTurn(turnFile, () => installedNode(needed) ?? install(needed));
  if (node === null) return;
  const placed = args.map((argument, index) => (index === at && cwd !== root ? join(root, entry) : argument));
  const tools = withTools ? { PATH: `${dirname(node)}:${join(root, 'node_modules', '.bin')}:${process.env.PATH}` } : {};
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...placed], {
    cwd,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...tools,
      UV_THREADPOOL_SIZE: process.env.UV_THREADPOOL_SIZE ?? '16',
      // By default the C library keeps what is freed in an arena for each thread that ever asked.
      MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX ?? '2',
      MALLOC_TRIM_THRESHOLD_: process.env.MALLOC_TRIM_THRESHOLD_ ?? '131072',
      // Types are stripped and code is compiled once for every process that follows.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules', '.compile-cache'),
    },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
