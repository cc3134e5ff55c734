/** What a process of a cluster loads is what it needs. */
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Says each package of which it loads anything; the arguments are what it imports. */
const LOADER = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const [, name] = /.*[/]node_modules[/]((?:@[^/]+[/])?[^/]+)/.exec(url) ?? [];
      if (name !== undefined) packages.add(name);
      return next(url, context);
    },
  });
  for (const one of process.argv.slice(1)) await import(one);
  process.stdout.write([...packages].join(' '));
`;

function packagesOf(...imported: readonly string[]): string[] {
  const options = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', LOADER, '--'];
  const said = execFileSync(process.execPath, [...options, ...imported], { cwd: import.meta.dirname });
  return said.toString().split(' ');
}

test('a gateway, which keeps nothing, loads no database and no jobs', () => {
  const ofServices = ['pg', 'bullmq'];
  expect(packagesOf('./role.ts', './stores.cluster.ts')).toEqual(expect.arrayContaining(ofServices));
  const ofGateway = packagesOf('./role.ts', '@svc/gateway/service.ts');
  expect(ofGateway).toContain('socket.io');
  expect(ofGateway.filter((name) => ofServices.includes(name))).toEqual([]);
});
