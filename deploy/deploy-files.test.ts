/** What the container files promise, held against the code they deploy. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_TABLE, secretVariables } from '@svc/runtime/config.ts';
import { temporaryFolder } from '@svc/testing/servers/processes.ts';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface ComposeService {
  readonly image: string;
  readonly build?: { readonly dockerfile: string };
  readonly user?: string;
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly ports?: readonly string[];
  readonly networks: readonly string[];
  readonly volumes?: readonly string[];
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly pids_limit: number;
  readonly mem_limit: string;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

const compose = parse(read('docker-compose.yml'), { merge: true }) as Compose;
const dockerfile = read('deploy/Dockerfile');
const natsConfig = read('deploy/nats/nats.conf');
const everyService = Object.entries(compose.services);
const ownServices = everyService.filter(([, { image }]) => image.startsWith('brain-service:'));
const httpPort = CONFIG_TABLE.SVC_MCP_PORT.fallback;

describe('Dockerfile', () => {
  test('runs as a user that is not root, under an init', () => {
    expect([...dockerfile.matchAll(/^USER (.+)$/gm)].at(-1)?.[1]).toBe('10001:10001');
    expect(dockerfile).toMatch(/^ENTRYPOINT \["tini", "--"\]$/m);
  });

  test('names every base with a tag that is not latest', () => {
    const stages = new Set([...dockerfile.matchAll(/ AS (\S+)$/gm)].map(([, name]) => name));
    const [, standard = ''] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? [];
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)]
      .map(([, name = '']) => (name === '${NODE_IMAGE}' ? standard : name))
      .filter((name) => !stages.has(name));
    expect(bases).not.toEqual([]);
    for (const base of bases) expect(base).toMatch(/^\S+:(?!latest)\S+$/);
  });

  test('checks its health at the port it exposes, the default port', () => {
    expect(dockerfile).toMatch(new RegExp(`^EXPOSE ${httpPort}$`, 'm'));
    expect(dockerfile).toContain(`process.env.SVC_MCP_PORT || ${httpPort}}/health`);
  });

  test('holds no secret and sends none to the build', () => {
    for (const name of secretVariables()) expect(dockerfile).not.toContain(name);
    const ignored = read('.dockerignore').split('\n');
    for (const path of ['.git', '.env*', 'data', 'deploy/secrets', '**/node_modules']) expect(ignored).toContain(path);
  });

  test('runs the major version of Node that the toolchain pins', () => {
    const { toolchain } = JSON.parse(read('package.json')) as { toolchain: { node: string } };
    expect(dockerfile).toContain(`NODE_IMAGE=node:${toolchain.node.split('.')[0]}-`);
  });
});

describe('docker-compose.yml', () => {
  test.each(everyService)('%s is confined', (name, service) => {
    expect(service.read_only).toBe(true);
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.pids_limit).toBeGreaterThan(0);
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
    if (!service.image.startsWith('brain-service:')) expect(service.user, name).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  test('builds the image of all its own services once', () => {
    const builds = everyService.flatMap(([, { build }]) => (build === undefined ? [] : [build.dockerfile]));
    expect(builds).toEqual(['deploy/Dockerfile']);
  });

  test.each(everyService)('%s has an image with a tag that is not latest', (_name, { image }) => {
    expect(image).toMatch(/^[a-z-]+:(?!latest)\S+$/);
  });

  test('publishes the gateway alone, on loopback', () => {
    const published = everyService.flatMap(([name, { ports = [] }]) => ports.map((port) => [name, port]));
    expect(published).toEqual([['gateway', `127.0.0.1:\${PORTS:-${httpPort}}:${httpPort}`]]);
  });

  test('keeps the servers on a network without a way in or out', () => {
    expect(compose.networks['inside']?.internal).toBe(true);
    for (const name of ['nats', 'redis', 'postgres']) expect(compose.services[name]?.networks).toEqual(['inside']);
  });

  test.each(ownServices)(
    '%s is told only what the configuration table knows, and secrets by file',
    (_name, service) => {
      const known = Object.keys(CONFIG_TABLE);
      const secrets = secretVariables();
      for (const [name, value] of Object.entries(service.environment ?? {})) {
        expect(known).toContain(name.replace(/_FILE$/, ''));
        expect(secrets).not.toContain(name);
        if (!name.endsWith('_FILE')) continue;
        const [, secret = ''] = /^\/run\/secrets\/(\w+)$/.exec(value) ?? [];
        expect(service.secrets).toContain(secret);
      }
    },
  );

  test.each(ownServices)('%s runs an entry that exists and waits for healthy servers', (_name, service) => {
    expect(service.command[0]).toBe('node');
    expect(existsSync(join(root, service.command[1] ?? ''))).toBe(true);
    expect(service.depends_on).toEqual({
      nats: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
      postgres: { condition: 'service_healthy' },
    });
  });

  test.each(everyService)('%s has a health check', (_name, { healthcheck }) => {
    expect(healthcheck?.test.length).toBeGreaterThan(1);
  });

  test('every service of the project has its block', () => {
    expect(ownServices.map(([name]) => name).sort()).toEqual(readdirSync(join(root, 'services')).sort());
  });

  test('keeps what is acknowledged: Redis never evicts and writes its log, every store has a volume', () => {
    const redis = compose.services['redis']?.command.join(' ');
    expect(redis).toContain('--maxmemory-policy noeviction');
    expect(redis).toContain('--appendonly yes');
    for (const name of ['brain', 'redis', 'postgres']) {
      expect(compose.services[name]?.volumes).toContainEqual(expect.stringMatching(`^${name}-data:/`));
    }
  });
});

describe('secrets', () => {
  test('the script makes exactly those that the compose file names, once', () => {
    const folder = temporaryFolder('svc-secrets');
    const make = () =>
      execFileSync(process.execPath, [join(root, 'deploy/make-secrets.ts'), folder], { stdio: 'pipe' });
    const content = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    make();
    const made = content();
    make();
    expect(content()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
    expect(statSync(folder).mode & 0o077).toBe(0);
    expect(
      Object.values(compose.secrets)
        .map(({ file }) => file)
        .sort(),
    ).toEqual(
      readdirSync(folder)
        .map((name) => `deploy/secrets/${name}`)
        .sort(),
    );
    rmSync(folder, { recursive: true });
  });

  test('the files of NATS hold no password', () => {
    const passwords = [...natsConfig.matchAll(/password: (\S+)/g)].map(([, value]) => value);
    expect(passwords).not.toEqual([]);
    for (const password of passwords) expect(password).toMatch(/^\$[A-Z]+_PASSWORD$/);
  });
});
