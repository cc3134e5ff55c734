/** What the container files promise, held against the code they deploy. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CONFIG_TABLE, secretVariables } from '@svc/runtime/config.ts';
import { findExecutable, temporaryFolder } from '@svc/testing/servers/processes.ts';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { ROLES, SERVICE_NAMES } from './services.ts';

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
  readonly deploy?: { readonly replicas: string };
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

  test('compiles as the user that will run it, because what is compiled is found by that user alone', () => {
    const lastUser = dockerfile.lastIndexOf('\nUSER ');
    expect(dockerfile.indexOf('\nRUN node deploy/warm-up.ts')).toBeGreaterThan(lastUser);
    expect(dockerfile.slice(0, lastUser)).toContain('NODE_COMPILE_CACHE=');
  });

  test('leaves no volume behind that nobody named', () => {
    expect(dockerfile).not.toMatch(/^VOLUME/m);
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
    expect(dockerfile).toContain('CMD ["/app/deploy/probe.sh"]');
    expect(read('deploy/probe.sh')).toContain(`\${SVC_MCP_PORT:-${httpPort}}`);
    expect(statSync(join(root, 'deploy/probe.sh')).mode & 0o111).toBe(0o111);
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
    expect(service.depends_on).toMatchObject({
      nats: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
      postgres: { condition: 'service_healthy' },
    });
  });

  test.each(everyService)('%s has a health check', (_name, { healthcheck }) => {
    expect(healthcheck?.test.length).toBeGreaterThan(1);
  });

  test('callers end before those they call', () => {
    const waitedFor = (name: string) => Object.keys(compose.services[name]?.depends_on ?? {});
    expect(waitedFor('gateway')).toEqual(expect.arrayContaining([...SERVICE_NAMES]));
    for (const name of SERVICE_NAMES.filter((one) => one !== 'habitat')) expect(waitedFor(name)).toContain('habitat');
  });

  test.each(ownServices)('%s is probed at its own port, and has logins of its own', (name, service) => {
    const { SVC_HEALTH_PORT: port = '', ...environment } = service.environment ?? {};
    expect(service.healthcheck?.test).toEqual(['CMD', '/app/deploy/probe.sh', port, '/ready']);
    for (const [variable, file] of Object.entries(environment)) {
      if (variable.endsWith('_URL_FILE')) expect(file).toMatch(new RegExp(`_url_${name}$`));
    }
  });

  test.each(ownServices)('how many there are of %s is set', (name, { deploy }) => {
    expect(deploy?.replicas).toBe(`\${${name.toUpperCase()}S:-1}`);
  });

  test('every service of the project has its block', () => {
    expect(ownServices.map(([name]) => name).sort()).toEqual(ROLES.toSorted());
    expect(readdirSync(join(root, 'services')).sort()).toEqual(ROLES.toSorted());
  });

  test('keeps what is acknowledged: Redis never evicts and writes its log, every store has a volume', () => {
    const redis = compose.services['redis']?.command.join(' ');
    expect(redis).toContain('--maxmemory-policy noeviction');
    expect(redis).toContain('--appendonly yes');
    expect(redis).toMatch(/--maxmemory \d+mb/);
    expect(redis).toContain('--protected-mode no');
    for (const name of ['brain', 'redis', 'postgres']) {
      expect(compose.services[name]?.volumes).toContainEqual(expect.stringMatching(`^${name}-data:/`));
    }
  });
});

describe('docker-compose.federation.yml', () => {
  const federation = parse(read('docker-compose.federation.yml'), { merge: true }) as Compose;
  const nodes = Object.entries(federation.services).filter(([name]) => name !== 'nats');

  test.each(Object.entries(federation.services))('%s is confined', (_name, service) => {
    expect([service.read_only, service.cap_drop]).toEqual([true, ['ALL']]);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
  });

  test('two nodes with a name, a port and an agent each share a secret and a bus that nobody else reaches', () => {
    const environments = nodes.map(([, { environment = {} }]) => environment);
    for (const name of ['SVC_NODE_NAME', 'SVC_NODE_PORT', 'SVC_NODE_AGENT_ID']) {
      expect(new Set(environments.map((environment) => environment[name])).size, name).toBe(2);
    }
    expect(new Set(environments.map((environment) => environment['SVC_NODE_SECRET_FILE']))).toEqual(
      new Set(['/run/secrets/node_secret']),
    );
    expect(federation.services['nats']?.networks).toEqual(['between']);
    expect(federation.services['nats']?.ports).toBeUndefined();
    expect(federation.networks['between']?.internal).toBe(true);
    expect(read('deploy/nats/federation-url').trim()).toBe('nats://nats:4222');
  });

  test.each(nodes)('%s is told only what the configuration table knows, and is published on loopback', (name, node) => {
    for (const variable of Object.keys(node.environment ?? {})) {
      expect(Object.keys(CONFIG_TABLE)).toContain(variable.replace(/_FILE$/, ''));
      expect(secretVariables()).not.toContain(variable);
    }
    expect(node.ports).toEqual([`127.0.0.1:${name === 'alpha' ? httpPort : 4457}:${httpPort}`]);
  });
});

test('a server is never run twice on its files to replace it', () => {
  for (const server of ['redis', 'postgres', 'nats']) {
    // nothing is on this path: no container is asked for before that is settled
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'deploy/roll.ts'), 'compose', 'brain', server], {
      env: { PATH: '/nowhere' },
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, `${server} is not replaced one by one, only ${ROLES.join(', ')} are\n`]);
  }
});

const make = (...args: readonly string[]) =>
  execFileSync(process.execPath, [join(root, 'deploy/make-secrets.ts'), ...args], { stdio: 'pipe', encoding: 'utf8' });

function secretsFolder(): string {
  const folder = temporaryFolder('svc-secrets');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('secrets', () => {
  test('the script makes exactly those that the compose file names, once', () => {
    const folder = secretsFolder();
    const kept = (name: string) => !['nats_passwords', 'redis_users', 'database_logins'].includes(name);
    const content = () =>
      readdirSync(folder).map((name) => (kept(name) ? readFileSync(join(folder, name), 'utf8') : ''));
    make(folder);
    const made = content();
    make(folder);
    expect(content()).toEqual(made);
    const filled = made.filter((text) => text.trim() !== '');
    expect(new Set(filled).size).toBe(filled.length);
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
  });

  const setpriv = findExecutable('setpriv');
  test.skipIf(process.getuid?.() === 0 && setpriv === null)(
    'the script runs twice for a user whom files refuse',
    () => {
      const folder = secretsFolder();
      const command = [process.execPath, join(root, 'deploy/make-secrets.ts'), folder];
      // root may write what nobody may write, unless it gives that up
      if (process.getuid?.() === 0) command.unshift(setpriv ?? '', '--bounding-set=-dac_override');
      const [file = '', ...args] = command;
      for (let run = 0; run < 2; run += 1) execFileSync(file, args, { stdio: 'pipe' });
      expect(statSync(join(folder, 'nats_passwords')).mode & 0o777).toBe(0o444);
    },
  );

  test('a renewed secret counts beside the one before, until that is retired', () => {
    const folder = secretsFolder();
    const secret = (name: string) => readFileSync(join(folder, name), 'utf8').trim();
    make(folder);
    const [key, url] = ['api_key', 'redis_url_brain'].map(secret);
    make('--renew', 'api_key', folder);
    expect([secret('api_key') === key, secret('api_key_previous')]).toEqual([false, key]);
    make('--retire', 'api_key', folder);
    expect(secret('api_key_previous')).toBe('');
    make('--renew', 'redis_url_brain', folder);
    expect(secret('redis_users').match(/^user brain(_b)? /gm)).toHaveLength(2);
    expect(() => make('--renew', 'redis_url_brain', folder)).toThrow('retire redis_url_brain first');
    make('--retire', 'redis_url_brain', folder);
    expect([secret('redis_users').match(/^user brain(_b)? /gm), secret('redis_url_brain') === url]).toEqual([
      ['user brain_b '],
      false,
    ]);
    expect(() => make('--renew', 'database_url_gateway', folder)).toThrow('there is no secret database_url_gateway');
  });

  test.each([
    ['audit_key', 'audit_key_also'],
    ['node_secret', 'node_secret_previous'],
  ])('a renewed %s is known everywhere before anybody signs with it', (name, other) => {
    const folder = secretsFolder();
    const both = () => [name, other].map((file) => readFileSync(join(folder, file), 'utf8').trim());
    make(folder);
    const [before] = both();
    make('--renew', name, folder);
    const [inUse, coming] = both();
    expect([inUse, coming === '']).toEqual([before, false]);
    make('--renew', name, folder);
    expect(both()).toEqual([coming, before]);
    make('--retire', name, folder);
    expect(both()).toEqual([coming, '']);
  });

  test('the files of NATS hold no password', () => {
    const passwords = [...natsConfig.matchAll(/password: ([^\s,]+)/g)].map(([, value]) => value);
    expect(passwords).not.toEqual([]);
    for (const password of passwords) expect(password).toMatch(/^\$[A-Z]+(_B)?_PASSWORD$/);
  });
});
