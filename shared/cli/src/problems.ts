/** What ends a command with a sentence for the person, and what they may do about it. */
import type { ExitName } from './exit-codes.ts';

export class Problem extends Error {
  readonly exit: ExitName;
  /** What to do, a line each. */
  readonly advice: readonly string[];

  constructor(message: string, exit: ExitName = 'failed', advice: readonly string[] = []) {
    super(message);
    this.exit = exit;
    this.advice = advice;
  }
}

/** The command is written wrongly. */
export class UsageProblem extends Problem {
  constructor(message: string, advice: readonly string[] = []) {
    super(message, 'usage', advice);
  }
}
