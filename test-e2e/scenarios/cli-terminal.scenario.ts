/** `svc` as a person has it: at a terminal, with an editor, with completion, at its own prompt. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { CommandLine, LAUNCHER, quoted, withoutColour } from '../instruments/command-line.ts';
import { folder, onOwnBrain } from '../instruments/own-command-line.ts';
import { newName, verifies } from '../verifies.ts';

const EMBEDDED = { only: 'embedded' } as const;

verifies(
  'cli:terminal',
  async (scenario) => {
    const { svc } = await onOwnBrain(scenario);
    await svc.rows('set', 'evil', 'first line\n\u001b[2J\u001b]0;mine\u0007 and \u202e turned');
    await svc.rows('commit', '-m', 'evil \u001b[31m');
    const tools = await svc.seen(['tools'], { columns: 72 });
    if (tools === null) return scenario.report('SKIPPED: nothing here makes a terminal (script of util-linux)');
    expect(tools.stdout).toContain('\u001b[');
    const lines = withoutColour(tools.stdout).split('\n');
    expect(lines[0]).toMatch(/^TOOL +AREA +EFFECT +WHAT IT DOES$/);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(72);
    const plain = await svc.seen(['tools'], { env: { NO_COLOR: '1' } });
    expect(plain?.stdout).not.toContain('\u001b[');
    for (const args of [['get', 'evil'], ['log'], ['search', 'turned'], ['call', 'svc_history']]) {
      const seen = await svc.seen(args);
      expect(withoutColour(seen?.stdout ?? ''), args.join(' ')).not.toMatch(/[\u001b\u0007\u202e]/);
    }
    for (const args of [
      ['status'],
      ['doctor'],
      ['describe', 'brain_write'],
      ['branch'],
      ['call', 'brain_list'],
      ['token'],
    ]) {
      const seen = await svc.seen(args);
      expect(seen, args.join(' ')).toMatchObject({ code: 0 });
      expect(withoutColour(seen?.stdout ?? ''), args.join(' ')).not.toMatch(/^\{/m);
    }
  },
  EMBEDDED,
);

/** Somebody else writes what the person has open, who saves it afterwards. */
const LATE_EDIT = `${[process.execPath, LAUNCHER].map(quoted).join(' ')} set doc theirs > /dev/null; echo late >> "$1"`;

/** The person's editor is that script; null where nothing makes a terminal. */
function editingWith(svc: CommandLine): (does: string) => ReturnType<CommandLine['seen']> {
  const editor = join(folder(), 'editor');
  return async (does) => {
    writeFileSync(editor, `#!/bin/sh\n${does}\n`, { mode: 0o755 });
    return svc.seen(['edit', 'doc'], { env: { EDITOR: editor } });
  };
}

verifies(
  'cli:edit',
  async (scenario) => {
    const { svc } = await onOwnBrain(scenario);
    await svc.rows('set', 'doc', 'mine\n');
    const edited = editingWith(svc);
    const saved = await edited('echo more >> "$1"');
    if (saved === null) return scenario.report('SKIPPED: nothing here makes a terminal (script of util-linux)');
    expect(saved.code, saved.stdout).toBe(0);
    expect((await svc.run(['get', 'doc'])).stdout).toBe('mine\nmore\n');
    expect((await edited('true'))?.stdout).toContain('as it was');

    const late = await edited(LATE_EDIT);
    expect(late?.code).toBe(3);
    expect((await svc.run(['get', 'doc'])).stdout).toBe('theirs');
    const kept = /Your text: (\S+)/.exec(withoutColour(late?.stdout ?? ''))?.[1] ?? '';
    expect(readFileSync(kept, 'utf8')).toBe('mine\nmore\nlate\n');
    expect((await edited('exit 1'))?.code).toBe(1);
    expect((await svc.run(['get', 'doc'])).stdout).toBe('theirs');
    expect((await svc.run(['edit', 'doc'])).code).toBe(2);
  },
  EMBEDDED,
);

verifies(
  'cli:edit',
  async (scenario) => {
    const { svc } = await onOwnBrain(scenario);
    await svc.rows('set', 'doc', 'mine\n');
    const late = await editingWith(svc)(LATE_EDIT);
    if (late === null) return scenario.report('SKIPPED: nothing here makes a terminal (script of util-linux)');
    const proposed = /in place of theirs:\s+svc (.+)/.exec(withoutColour(late.stdout))?.[1]?.trim() ?? '';
    await svc.rows('branch', 'create', 'elsewhere');
    expect((await svc.run(proposed.split(' '))).code).toBe(0);
    expect((await svc.run(['get', 'doc'])).code).toBe(3);
    await svc.rows('branch', 'switch', 'main');
    expect((await svc.run(['get', 'doc'])).stdout).toBe('mine\nlate\n');
  },
  { ...EMBEDDED, title: 'what is proposed after a conflict means the brain and branch that were edited' },
);

verifies(
  'cli:edit',
  async (scenario) => {
    const { svc } = await onOwnBrain(scenario);
    await svc.rows('set', 'doc', 'mine');
    const removed = await editingWith(svc)('dirname "$1"; rm "$1"');
    if (removed === null) return scenario.report('SKIPPED: nothing here makes a terminal (script of util-linux)');
    expect(removed.code).toBe(1);
    const said = withoutColour(removed.stdout);
    expect(said).toMatch(/left no file behind\.\s+Nothing was written/);
    expect(existsSync(/^\S*svc-edit-\S+/.exec(said)?.[0] ?? expect.fail(said))).toBe(false);
    expect((await svc.run(['get', 'doc'])).stdout).toBe('mine');
  },
  { ...EMBEDDED, title: 'an editor that removes the file is told, and nothing is left of it' },
);

verifies(
  'cli:completion',
  async (scenario) => {
    const { svc } = await onOwnBrain(scenario);
    await svc.rows('set', 'notes/tides', 'x');
    const { stdout: script } = await svc.run(['completion', 'bash']);
    const bin = folder();
    writeFileSync(join(bin, 'svc'), `#!/bin/sh\nexec ${[process.execPath, LAUNCHER].map(quoted).join(' ')} "$@"\n`, {
      mode: 0o755,
    });
    const asked = async (line: string): Promise<string[]> => {
      const typed = `COMP_LINE=${quoted(line)} COMP_POINT=${line.length} COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'`;
      const bash = `${script}\n${typed}\n_svc\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout } = await svc.program(['bash', '-c', bash], { env: { PATH: `${bin}:${process.env['PATH']}` } });
      return stdout.split('\n').filter((value) => value !== '');
    };
    expect(await asked('svc sta')).toEqual(['start', 'status']);
    expect(await asked('svc call brain_wri')).toEqual(['brain_write']);
    expect(await asked('svc call brain_write for')).toEqual(['format=']);
    expect(await asked('svc call brain_write format=')).toEqual(['md', 'json', 'yaml', 'txt']);
    expect(await asked('svc get no')).toEqual(['notes/tides.md']);
    await svc.rows('branch', 'create', 'drafts', '--stay');
    await svc.rows('set', 'notes/draft', 'x', '--branch', 'drafts');
    expect(await asked('svc get --branch drafts notes/d')).toEqual(['notes/draft.md']);
    expect(await asked('svc watch lock:a')).toEqual(['acquired']);
    expect(await asked('svc call brain_write "name=$(touch /tmp/never)" for')).toEqual(['format=']);
    for (const shell of ['zsh', 'fish'])
      expect((await svc.run(['completion', shell])).stdout).toContain('svc __complete');
  },
  EMBEDDED,
);

verifies(
  'cli:prompt',
  async (scenario) => {
    const { svc, brain } = await onOwnBrain(scenario);
    const lines = [
      'set a "two words"',
      'brain_current',
      'no_such_tool',
      'get a',
      'svc log -n 1',
      'exit',
      'set b never',
    ];
    const { stdout, stderr } = await svc.run(['prompt'], { stdin: `${lines.join('\n')}\n` });
    expect(stdout).toContain(`"current":"${brain}"`);
    expect(stdout).toContain('two words');
    expect(stderr).toContain('no_such_tool');
    expect((await svc.run(['get', 'b'])).code).toBe(3);
    expect((await svc.run(['prompt'], { stdin: 'get a\nget b\n' })).code, 'that of the last').toBe(3);
  },
  EMBEDDED,
);

verifies(
  'cli:prompt',
  async ({ place }) => {
    const data = join(folder(), 'data');
    const svc = new CommandLine(place, newName('session'));
    const node = [process.execPath, join(import.meta.dirname, '..', '..', 'deploy', 'embedded.ts')];
    const env = { SVC_MODE: 'cli', SVC_DATA_DIR: data, SVC_MCP_PORT: '0', SVC_BIND: '127.0.0.1' };
    const started = svc.program(node, { env, stdin: 'set note kept\nstatus\n' });
    expect(await started).toMatchObject({ code: 0, stdout: expect.stringContaining('"mode":"cli"') });
    expect(readdirSync(data), 'the node ended with its prompt').not.toContain('service.lock');
    const again = await svc.program(node, { env, stdin: 'get note\n' });
    expect(again.stdout).toContain('kept');
  },
  { ...EMBEDDED, title: 'SVC_MODE=cli starts a node with a prompt, which end together' },
);
