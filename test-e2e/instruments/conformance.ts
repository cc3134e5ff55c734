/** The official conformance runner, as a process of its own, and what it found. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Finding {
  readonly scenario: string;
  readonly check: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly text: string;
}

interface Check {
  readonly id: string;
  readonly status: Finding['status'];
  readonly errorMessage?: string;
}

/** `<kind>-<scenario>-<time>` */
const FOLDER = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;

/** Every check of every server scenario of the revision, those that are never scored included. */
export async function runConformance(url: string, revision: string): Promise<Finding[]> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  try {
    const args = ['server', '--url', url, '--requirements', revision, '--output-dir', folder];
    const runner = spawn(process.execPath, [runnerFile(), ...args], { stdio: 'ignore' });
    await once(runner, 'close');
    return await findingsIn(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the package calls its command. */
function runnerFile(): string {
  const { resolve } = createRequire(import.meta.url);
  return resolve('@modelcontextprotocol/conformance/dist/index.js');
}

async function findingsIn(folder: string): Promise<Finding[]> {
  const found = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const scenario = FOLDER.exec(name)?.[1];
      if (scenario === undefined) throw new Error(`the runner left ${name}, which is no scenario`);
      const checks = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as Check[];
      return checks.map(({ id, status, errorMessage = '' }) => ({ scenario, check: id, status, text: errorMessage }));
    }),
  );
  return found.flat();
}
