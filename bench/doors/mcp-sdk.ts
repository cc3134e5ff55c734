/** The official server of the Model Context Protocol with as many tools as argument 1 says, each answering at once. */
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { announce } from './door.ts';

const tools = Number(process.argv[2]);

/** The library makes a server for each request of the revision that knows no sessions. */
function serverWithTools(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1' });
  for (let number = 0; number < tools; number += 1) {
    const description = `Tool ${number}: tells that nothing is to be done.`;
    const inputSchema = z.strictObject({ brain: z.string().optional() });
    server.registerTool(`tool_${number}`, { description, inputSchema }, async () => ({
      content: [{ type: 'text', text: '{"needed":false}' }],
      structuredContent: { needed: false },
    }));
  }
  return server;
}

const handle = toNodeHandler(createMcpHandler(serverWithTools));
announce(createServer((request, response) => void handle(request as Parameters<typeof handle>[0], response)));
