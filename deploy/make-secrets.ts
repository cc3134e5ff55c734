// The secrets of docker-compose.yml, in deploy/secrets or the folder named as the last argument.
//   make-secrets.ts                  makes those that are missing; run it again when a service is added
//   make-secrets.ts --renew NAME     makes a new one, which counts beside the one in use until --retire
//   make-secrets.ts --retire NAME    ends the one before
// NAME: api_key, audit_key, node_secret, nats_url_<service>, redis_url_<service> or database_url_<service>; see docs/operations.md.
import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROLES, SERVICE_NAMES, SERVICES } from './services.ts';

const { values, positionals } = parseArgs({
  options: { renew: { type: 'string' }, retire: { type: 'string' } },
  allowPositionals: true,
});
const folder = positionals[0] ?? join(import.meta.dirname, 'secrets');

/** Where the other one stands while two count. */
const OTHER: Readonly<Record<string, string>> = {
  api_key: 'api_key_previous',
  audit_key: 'audit_key_also',
  node_secret: 'node_secret_previous',
};
const otherOf = (name: string): string => OTHER[name] ?? `${name}_previous`;

const newPassword = (): string => randomBytes(32).toString('base64url');

function read(name: string): string {
  const path = join(folder, name);
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}

/** In place, because a container sees the file that was there when it started. */
function write(name: string, value: string): void {
  const path = join(folder, name);
  if (existsSync(path)) chmodSync(path, 0o600);
  writeFileSync(path, `${value}\n`);
  // The containers see single files, under users of their own.
  chmodSync(path, 0o444);
}

function keep(name: string, make: () => string): void {
  if (read(name) === '') write(name, make());
}

const loginOf = (service: string, letter: string): string => (letter === 'a' ? service : `${service}_b`);

/** Address of a login of a service; `letter` tells its two logins apart. */
const URLS: Readonly<Record<string, (service: string, letter: string) => string>> = {
  nats_url: (service, letter) => `nats://${loginOf(service, letter)}:${newPassword()}@nats:4222`,
  redis_url: (service, letter) => `redis://${loginOf(service, letter)}:${newPassword()}@redis:6379`,
  database_url: (service, letter) => `postgresql://${service}_${letter}:${newPassword()}@postgres:5432/svc`,
};

/** Every address there is, with the other one of its service when that counts too. */
function urls(kind: string, among: readonly string[]): { service: string; user: string; password: string }[] {
  return among.flatMap((service) =>
    [`${kind}_${service}`, otherOf(`${kind}_${service}`)].flatMap((name) => {
      const text = read(name);
      if (text === '') return [];
      const { username: user, password } = new URL(text);
      return [{ service, user, password }];
    }),
  );
}

function fill(): void {
  for (const name of ['api_key', 'audit_key', 'node_secret', 'postgres_password']) keep(name, newPassword);
  for (const name of Object.values(OTHER)) if (!existsSync(join(folder, name))) write(name, '');
  for (const [kind, make] of Object.entries(URLS)) {
    const among = kind === 'database_url' ? SERVICE_NAMES : ROLES; // the gateway keeps nothing
    for (const service of among) keep(`${kind}_${service}`, () => make(service, 'a'));
  }
}

/** What the servers read: made of the addresses, each time. */
function writeServerFiles(): void {
  const nats = new Map(
    ROLES.flatMap((service) => ['a', 'b'].map((letter) => [loginOf(service, letter), newPassword()])),
  );
  for (const { user, password } of urls('nats_url', ROLES)) nats.set(user, password);
  write(
    'nats_passwords',
    Array.from(nats, ([user, password]) => `${user.toUpperCase()}_PASSWORD: "${password}"`).join('\n'),
  );
  const redis = urls('redis_url', ROLES).map(({ service, user, password }) => {
    const digest = createHash('sha256').update(password).digest('hex');
    return `user ${user} on #${digest} ${redisRights(service)}`;
  });
  // Whoever has no password may find out that it lives.
  write('redis_users', ['user default on nopass resetkeys resetchannels -@all +ping', ...redis].join('\n'));
  const logins = urls('database_url', SERVICE_NAMES);
  write('database_logins', logins.map(({ service, user, password }) => `${service} ${user} ${password}`).join('\n'));
}

/** Its own keys and channels, and none of the commands that concern the server or everybody. */
function redisRights(service: string): string {
  const commands = '+@all -@admin -@dangerous +info';
  if (service === 'gateway') return `~svc:rate:* ~svc:failed:* ~svc:mcp:* resetchannels ${commands}`;
  const own = SERVICES.find(({ name }) => name === service)?.redisKeys ?? [];
  const keys = [`${service}:*`, `{svc-jobs}:${service}.*`, '{svc-jobs}:cancelled', ...own].map((key) => `~${key}`);
  return `${keys.join(' ')} resetchannels ${commands}`;
}

/** Changed by hand, where they are used. */
const FIXED = ['postgres_password'];

/** What is signed has to be understood by all: these count everywhere before anybody signs with them, which takes two steps. */
const IN_TWO_STEPS: Readonly<Record<string, { readonly signers: string; readonly until: string }>> = {
  audit_key: { signers: 'the habitat processes', until: 'two minutes' },
  node_secret: {
    signers: 'the agora processes of all deployments that vote together, with both files copied',
    until: 'until no open topic was signed with the one before',
  },
};

function renew(name: string): string {
  const [inUse, other] = [read(name), read(otherOf(name))];
  if (inUse === '' || FIXED.includes(name)) throw new Error(`there is no secret ${name} to renew`);
  const steps = IN_TWO_STEPS[name];
  if (steps !== undefined) {
    if (other === '') {
      write(otherOf(name), newPassword());
      return `the new ${name} counts now; replace ${steps.signers}, then renew it once more`;
    }
    write(name, other);
    write(otherOf(name), inUse);
    return `the new ${name} signs now; replace ${steps.signers}, wait ${steps.until}, then retire it`;
  }
  if (other !== '') throw new Error(`retire ${name} first: two of it count already`);
  write(otherOf(name), inUse);
  const [, kind = '', service = ''] = /^(\w+?_url)_(\w+)$/.exec(name) ?? [];
  const letter = /^\w+:\/\/\w+_b:/.test(inUse) ? 'a' : 'b';
  write(name, URLS[kind]?.(service, letter) ?? newPassword());
  return `${name} is new; the one before counts until it is retired`;
}

function retire(name: string): string {
  if (read(otherOf(name)) === '') throw new Error(`one ${name} counts, there is none to retire`);
  write(otherOf(name), '');
  return `${name} counts alone`;
}

mkdirSync(folder, { recursive: true });
// Nobody else on this machine may enter the folder.
chmodSync(folder, 0o700);
try {
  fill();
  const { renew: renewed, retire: retired } = values;
  const said = renewed !== undefined ? renew(renewed) : retired !== undefined ? retire(retired) : null;
  writeServerFiles();
  console.log(said ?? `${folder} is complete; the key of the service is in ${join(folder, 'api_key')}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
