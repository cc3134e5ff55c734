/** What is wrong with the node or with this machine, and how to mend it. */
import type { CommandDeclaration } from '../command.ts';
import type { Finding } from '../doctor/finding.ts';
import { Problem } from '../problems.ts';
import type { Terminal } from '../terminal.ts';
import { oneLine } from '../visible.ts';

export const doctorCommand: CommandDeclaration = {
  name: 'doctor',
  summary: 'Looks for what is wrong with this machine and the node, and says how to mend it.',
  notes: ['Its exit code is 1 when something must be mended; what deserves a look alone is none.'],
  examples: ['svc doctor', 'svc doctor --json | jq \'select(.state == "fail")\''],
  async run({ client, terminal, surroundings, signal }) {
    const { examine } = await import('../doctor/examine.ts');
    const findings = await examine(surroundings, client, signal);
    if (terminal.isJson) for (const finding of findings) terminal.json(finding);
    else terminal.print(findings.map((finding) => findingText(terminal, finding)).join('\n'));
    const wrong = findings.filter(({ state }) => state === 'fail').length;
    if (wrong > 0) throw new Problem(`${wrong} ${wrong === 1 ? 'thing is' : 'things are'} to be mended.`);
    if (!terminal.isJson) terminal.note(terminal.paintNote('green', '\nNothing must be mended.'));
  },
};

const SIGNS = { ok: ['green', '✓'], look: ['yellow', '!'], fail: ['red', '✗'] } as const;
const NAME_WIDTH = 12;

function findingText(terminal: Terminal, { name, state, found, mend }: Finding): string {
  const [paint, sign] = SIGNS[state];
  const head = `${terminal.paint(paint, sign)} ${terminal.paint('bold', name.padEnd(NAME_WIDTH))} ${oneLine(found)}`;
  return mend === null ? head : `${head}\n  ${' '.repeat(NAME_WIDTH)} ${terminal.paint('cyan', '→')} ${oneLine(mend)}`;
}
