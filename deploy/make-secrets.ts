// Writes the secrets of docker-compose.yml into deploy/secrets (or the folder named as argument). Those that exist stay
// as they are, so it may run again when a service is added.
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? join(import.meta.dirname, 'secrets');

function write(name: string, value: string): void {
  const path = join(folder, name);
  writeFileSync(path, `${value}\n`);
  // The containers see single files, under users of their own.
  chmodSync(path, 0o444);
}

/** The secret of that name; made when there is none yet. */
function secret(name: string, make: (password: string) => string): string {
  const path = join(folder, name);
  if (!existsSync(path)) write(name, make(randomBytes(32).toString('base64url')));
  return readFileSync(path, 'utf8').trim();
}

mkdirSync(folder, { recursive: true });
// Nobody else on this machine may enter the folder.
chmodSync(folder, 0o700);

secret('api_key', (password) => password);
secret('audit_key', (password) => password);
const postgres = secret('postgres_password', (password) => password);
secret('database_url', () => `postgresql://svc:${postgres}@postgres:5432/svc`);
const redis = secret('redis_auth', (password) => `requirepass ${password}`).replace('requirepass ', '');
secret('redis_url', () => `redis://:${redis}@redis:6379`);
const natsPasswords = readdirSync(join(import.meta.dirname, '..', 'services'))
  .sort()
  .map((service) => {
    const url = secret(`nats_url_${service}`, (password) => `nats://${service}:${password}@nats:4222`);
    return `${service.toUpperCase()}_PASSWORD: "${new URL(url).password}"`;
  });
write('nats_passwords', natsPasswords.join('\n'));
console.log(`${folder} is complete; the key of the service is in ${join(folder, 'api_key')}`);
