import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const IMPORTED = 'imported';

/**
 * Runs WebAssembly (Node's own removal of types) while V8 collects machine code as often as it can. Returns what V8
 * tells of it once `modules` are imported.
 */
async function traceOfCollector(modules: readonly string[]): Promise<string> {
  const program = `
    import { writeSync } from 'node:fs';
    import { stripTypeScriptTypes } from 'node:module';
    ${modules.map((module) => `import ${JSON.stringify(new URL(module, import.meta.url).href)};`).join('\n')}
    writeSync(1, ${JSON.stringify(`\n${IMPORTED}\n`)});
    for (let i = 0; i < 300; i += 1) stripTypeScriptTypes('const x: number = 1;'.repeat(i));`;
  const options = ['--trace-wasm-code-gc', '--stress-wasm-code-gc', '--wasm-tiering-budget=20000', '--no-warnings'];
  const { stdout } = await promisify(execFile)(process.execPath, [...options, '--input-type=module', '-e', program], {
    cwd: import.meta.dirname,
    maxBuffer: 2 ** 26,
  });
  return stdout.slice(stdout.indexOf(IMPORTED));
}

test.each(['./database.embedded.ts', './database.postgres.ts'])(
  'V8 collects no machine code of WebAssembly in a process that loads %s',
  async (module) => {
    await expect(traceOfCollector([module])).resolves.not.toContain('[wasm-gc] Triggering');
  },
);

test('it would otherwise', async () => {
  await expect(traceOfCollector([])).resolves.toContain('[wasm-gc] Triggering');
});
