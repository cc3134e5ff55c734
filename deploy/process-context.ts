/** What every process has, wherever it runs: configuration, log, metrics, time, its own name. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { createIds, systemClock, systemRandom } from '@svc/runtime/clock.ts';
import { type Config, readConfig, secretVariables } from '@svc/runtime/config.ts';
import { createLog } from '@svc/runtime/log.ts';
import { createMetrics } from '@svc/runtime/metrics.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { logStream } from './log-stream.ts';

export interface Environment {
  readonly config: Config;
  readonly warnings: readonly string[];
}

/** Reads the environment once and removes secrets from it, so that no child process inherits them. */
export function takeEnvironment(): Environment {
  const environment = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
  for (const name of [...secretVariables(), ...environment.config.remoteTokens.keys()]) delete process.env[name];
  return environment;
}

export type ProcessContext = Pick<Platform, 'config' | 'log' | 'metrics' | 'clock' | 'ids' | 'random' | 'node'>;

/** `role` names the process in logs. */
export async function createProcessContext({ config, warnings }: Environment, role: string): Promise<ProcessContext> {
  const nodeId = config.SVC_NODE_ID ?? hostname();
  const log = createLog(config.SVC_LOG_LEVEL, { node: nodeId, role }, await logStream(config));
  for (const warning of warnings) log.warn(warning);
  const instance = `${role}-${randomBytes(8).toString('hex')}`;
  return {
    config,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    random: systemRandom,
    node: { nodeId, instance, startedAt: systemClock.now(), version: readVersion() },
  };
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8'));
  return manifest !== null && typeof manifest === 'object' && 'version' in manifest
    ? String(manifest.version)
    : '0.0.0';
}
