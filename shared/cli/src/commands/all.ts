/** The commands, in the order in which help shows them. */
import type { CommandDeclaration } from '../command.ts';
import {
  branchCreateCommand,
  branchDeleteCommand,
  branchListCommand,
  branchMergeCommand,
  branchSwitchCommand,
} from './branches.ts';
import { commitCommand, logCommand, searchCommand, syncCommand } from './brain.ts';
import { callCommand } from './call.ts';
import { completionCommand } from './completion.ts';
import { doctorCommand } from './doctor.ts';
import { editCommand } from './edit.ts';
import { getCommand, setCommand } from './files.ts';
import { mcpCommand } from './mcp.ts';
import { promptCommand } from './prompt.ts';
import { startCommand } from './start.ts';
import { statusCommand } from './status.ts';
import { tokenListCommand, tokenMintCommand, tokenRevokeCommand } from './tokens.ts';
import { watchCommand } from './watch.ts';
import { describeCommand, toolsCommand } from './tools.ts';

export const COMMANDS: readonly CommandDeclaration[] = [
  startCommand,
  statusCommand,
  doctorCommand,
  toolsCommand,
  describeCommand,
  callCommand,
  getCommand,
  setCommand,
  editCommand,
  searchCommand,
  logCommand,
  commitCommand,
  branchListCommand,
  branchCreateCommand,
  branchSwitchCommand,
  branchMergeCommand,
  branchDeleteCommand,
  syncCommand,
  watchCommand,
  tokenMintCommand,
  tokenListCommand,
  tokenRevokeCommand,
  mcpCommand,
  promptCommand,
  completionCommand,
];
