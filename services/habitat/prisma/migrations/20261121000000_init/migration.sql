-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "habitat";

-- CreateTable
CREATE TABLE "habitat"."registry_revision" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "rev" BIGINT NOT NULL DEFAULT 1,
    "policies" BIGINT NOT NULL DEFAULT 1,

    CONSTRAINT "registry_revision_pkey" PRIMARY KEY ("one")
);

-- CreateTable
CREATE TABLE "habitat"."workspaces" (
    "workspace_id" TEXT NOT NULL,
    "folded" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "owner" TEXT,
    "policy" JSON,
    "geometry" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "created_by" TEXT NOT NULL,

    CONSTRAINT "workspaces_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateTable
CREATE TABLE "habitat"."roles" (
    "workspace_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "granted_by" TEXT NOT NULL,
    "granted_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "roles_pkey" PRIMARY KEY ("workspace_id","user_id","role")
);

-- CreateTable
CREATE TABLE "habitat"."policies" (
    "resource" TEXT NOT NULL,
    "readable_by" TEXT[],
    "writable_by" TEXT[],
    "container" TEXT NOT NULL,
    "filter" JSON NOT NULL,
    "mask" JSON NOT NULL,
    "version" INTEGER NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "updated_by" TEXT NOT NULL,

    CONSTRAINT "policies_pkey" PRIMARY KEY ("resource")
);

-- CreateTable
CREATE TABLE "habitat"."tokens" (
    "hash" TEXT NOT NULL,
    "token_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "workspace" TEXT,
    "read_only" BOOLEAN NOT NULL DEFAULT false,
    "profile" TEXT,
    "claims" JSON,
    "minted_by" TEXT NOT NULL,
    "minted_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "revoked_by" TEXT,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "tokens_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "habitat"."agents" (
    "agent_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT,
    "parent" TEXT,
    "brain" TEXT,
    "team" TEXT,
    "workspace" TEXT NOT NULL,
    "role_id" TEXT,
    "reports_to" TEXT,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "killed_at" TIMESTAMPTZ(3),

    CONSTRAINT "agents_pkey" PRIMARY KEY ("agent_id")
);

-- CreateTable
CREATE TABLE "habitat"."agent_tasks" (
    "task_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "task" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "reason" TEXT,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "agent_tasks_pkey" PRIMARY KEY ("task_id")
);

-- CreateTable
CREATE TABLE "habitat"."agent_messages" (
    "message_id" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "recipients" TEXT[],
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "agent_messages_pkey" PRIMARY KEY ("message_id")
);

-- CreateTable
CREATE TABLE "habitat"."orgs" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "folded" TEXT NOT NULL,
    "plan" TEXT NOT NULL,
    "desc" TEXT NOT NULL,
    "owner" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "orgs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."depts" (
    "id" TEXT NOT NULL,
    "org" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "folded" TEXT NOT NULL,
    "desc" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "depts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."teams" (
    "id" TEXT NOT NULL,
    "org" TEXT NOT NULL,
    "dept" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "folded" TEXT NOT NULL,
    "desc" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "teams_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."team_roles" (
    "id" TEXT NOT NULL,
    "org" TEXT NOT NULL,
    "team" TEXT,
    "name" TEXT NOT NULL,
    "folded" TEXT NOT NULL,
    "permissions" TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "team_roles_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."assignments" (
    "agent_id" TEXT NOT NULL,
    "org" TEXT NOT NULL,
    "dept" TEXT,
    "team" TEXT,
    "role" TEXT,
    "reports_to" TEXT,
    "assigned_at" TIMESTAMPTZ(3) NOT NULL,
    "assigned_by" TEXT NOT NULL,

    CONSTRAINT "assignments_pkey" PRIMARY KEY ("agent_id")
);

-- CreateTable
CREATE TABLE "habitat"."trust" (
    "entity_id" TEXT NOT NULL,
    "score" INTEGER NOT NULL,
    "karma" INTEGER NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "quarantined_at" TIMESTAMPTZ(3),
    "quarantined_by" TEXT,

    CONSTRAINT "trust_pkey" PRIMARY KEY ("entity_id")
);

-- CreateTable
CREATE TABLE "habitat"."trust_records" (
    "id" TEXT NOT NULL,
    "entity_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "delta" INTEGER NOT NULL,
    "note" TEXT,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "trust_records_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."trust_trades" (
    "trade_id" TEXT NOT NULL,
    "seller" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "trust_trades_pkey" PRIMARY KEY ("trade_id")
);

-- CreateTable
CREATE TABLE "habitat"."trust_required" (
    "permission" TEXT NOT NULL,
    "min_trust" INTEGER NOT NULL,
    "set_by" TEXT NOT NULL,
    "set_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "trust_required_pkey" PRIMARY KEY ("permission")
);

-- CreateTable
CREATE TABLE "habitat"."sudo_tasks" (
    "task_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sudo_tasks_pkey" PRIMARY KEY ("task_id")
);

-- CreateTable
CREATE TABLE "habitat"."sudo_grants" (
    "principal" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "granted_by" TEXT NOT NULL,
    "granted_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "request_id" TEXT,
    "reason" TEXT,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "sudo_grants_pkey" PRIMARY KEY ("principal","scope")
);

-- CreateTable
CREATE TABLE "habitat"."sudo_requests" (
    "request_id" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "reason" TEXT,
    "workspace" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "state" TEXT NOT NULL,
    "ended_by" TEXT,

    CONSTRAINT "sudo_requests_pkey" PRIMARY KEY ("request_id")
);

-- CreateTable
CREATE TABLE "habitat"."sudo_history" (
    "id" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sudo_history_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."governance_decisions" (
    "id" TEXT NOT NULL,
    "topic" TEXT NOT NULL,
    "context" JSON NOT NULL,
    "checks" JSON NOT NULL,
    "allowed" BOOLEAN NOT NULL,
    "reason" TEXT,
    "reasons" TEXT[],
    "standing" BOOLEAN NOT NULL,
    "entity" TEXT,
    "by" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "governance_decisions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."audit_entries" (
    "chain" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "event" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" JSON NOT NULL,
    "workspace" TEXT,
    "data" JSON NOT NULL,
    "prev_hash" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "actor" TEXT,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("chain","seq")
);

-- CreateTable
CREATE TABLE "habitat"."audit_heads" (
    "chain" TEXT NOT NULL,
    "seq" BIGINT NOT NULL,
    "hash" TEXT NOT NULL,
    "mac" TEXT NOT NULL,
    "checkpoint_seq" BIGINT NOT NULL DEFAULT 0,
    "checkpoint_at" TIMESTAMPTZ(3),

    CONSTRAINT "audit_heads_pkey" PRIMARY KEY ("chain")
);

-- CreateTable
CREATE TABLE "habitat"."succession" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "trust_level" TEXT NOT NULL DEFAULT 'medium',
    "previous_brain" TEXT,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "succession_pkey" PRIMARY KEY ("one")
);

-- CreateTable
CREATE TABLE "habitat"."outbox" (
    "id" TEXT NOT NULL,
    "position" BIGINT,
    "name" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "workspace" TEXT,
    "node" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "habitat"."outbox_head" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "head" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "outbox_head_pkey" PRIMARY KEY ("one")
);

-- CreateTable
CREATE TABLE "habitat"."idempotency" (
    "principal" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "args_hash" TEXT NOT NULL,
    "outcome" JSON,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_pkey" PRIMARY KEY ("principal","tool","key")
);

-- CreateTable
CREATE TABLE "habitat"."audit_outbox" (
    "id" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "workspace" TEXT,
    "subject" JSON NOT NULL,
    "data" JSON NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "written" BIGSERIAL NOT NULL,

    CONSTRAINT "audit_outbox_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "workspaces_folded_key" ON "habitat"."workspaces"("folded");

-- CreateIndex
CREATE INDEX "workspaces_owner_idx" ON "habitat"."workspaces"("owner");

-- CreateIndex
CREATE INDEX "roles_user_id_granted_at_idx" ON "habitat"."roles"("user_id", "granted_at");

-- CreateIndex
CREATE INDEX "policies_container_resource_idx" ON "habitat"."policies"("container", "resource");

-- CreateIndex
CREATE UNIQUE INDEX "tokens_token_id_key" ON "habitat"."tokens"("token_id");

-- CreateIndex
CREATE INDEX "tokens_agent_id_minted_at_idx" ON "habitat"."tokens"("agent_id", "minted_at");

-- CreateIndex
CREATE INDEX "tokens_workspace_minted_at_idx" ON "habitat"."tokens"("workspace", "minted_at");

-- CreateIndex
CREATE INDEX "tokens_expires_at_idx" ON "habitat"."tokens"("expires_at");

-- CreateIndex
CREATE INDEX "agents_workspace_killed_at_agent_id_idx" ON "habitat"."agents"("workspace", "killed_at", "agent_id");

-- CreateIndex
CREATE INDEX "agents_name_idx" ON "habitat"."agents"("name");

-- CreateIndex
CREATE INDEX "agents_parent_idx" ON "habitat"."agents"("parent");

-- CreateIndex
CREATE INDEX "agents_reports_to_idx" ON "habitat"."agents"("reports_to");

-- CreateIndex
CREATE INDEX "agents_created_by_created_at_idx" ON "habitat"."agents"("created_by", "created_at");

-- CreateIndex
CREATE INDEX "agent_tasks_agent_id_ended_at_at_idx" ON "habitat"."agent_tasks"("agent_id", "ended_at", "at");

-- CreateIndex
CREATE INDEX "agent_messages_workspace_at_idx" ON "habitat"."agent_messages"("workspace", "at");

-- CreateIndex
CREATE INDEX "agent_messages_by_at_idx" ON "habitat"."agent_messages"("by", "at");

-- CreateIndex
CREATE UNIQUE INDEX "orgs_folded_key" ON "habitat"."orgs"("folded");

-- CreateIndex
CREATE INDEX "orgs_owner_idx" ON "habitat"."orgs"("owner");

-- CreateIndex
CREATE INDEX "depts_folded_idx" ON "habitat"."depts"("folded");

-- CreateIndex
CREATE UNIQUE INDEX "depts_org_folded_key" ON "habitat"."depts"("org", "folded");

-- CreateIndex
CREATE INDEX "teams_org_idx" ON "habitat"."teams"("org");

-- CreateIndex
CREATE INDEX "teams_folded_idx" ON "habitat"."teams"("folded");

-- CreateIndex
CREATE UNIQUE INDEX "teams_dept_folded_key" ON "habitat"."teams"("dept", "folded");

-- CreateIndex
CREATE UNIQUE INDEX "team_roles_org_folded_key" ON "habitat"."team_roles"("org", "folded");

-- CreateIndex
CREATE INDEX "assignments_org_idx" ON "habitat"."assignments"("org");

-- CreateIndex
CREATE INDEX "assignments_team_idx" ON "habitat"."assignments"("team");

-- CreateIndex
CREATE INDEX "assignments_role_idx" ON "habitat"."assignments"("role");

-- CreateIndex
CREATE INDEX "assignments_reports_to_idx" ON "habitat"."assignments"("reports_to");

-- CreateIndex
CREATE INDEX "trust_records_entity_id_by_at_idx" ON "habitat"."trust_records"("entity_id", "by", "at");

-- CreateIndex
CREATE INDEX "trust_records_by_at_idx" ON "habitat"."trust_records"("by", "at");

-- CreateIndex
CREATE INDEX "sudo_tasks_owner_created_at_idx" ON "habitat"."sudo_tasks"("owner", "created_at");

-- CreateIndex
CREATE INDEX "sudo_tasks_workspace_created_at_idx" ON "habitat"."sudo_tasks"("workspace", "created_at");

-- CreateIndex
CREATE INDEX "sudo_requests_principal_at_idx" ON "habitat"."sudo_requests"("principal", "at");

-- CreateIndex
CREATE INDEX "sudo_requests_by_at_idx" ON "habitat"."sudo_requests"("by", "at");

-- CreateIndex
CREATE INDEX "sudo_history_principal_at_idx" ON "habitat"."sudo_history"("principal", "at");

-- CreateIndex
CREATE INDEX "governance_decisions_workspace_topic_standing_at_id_idx" ON "habitat"."governance_decisions"("workspace", "topic", "standing", "at", "id");

-- CreateIndex
CREATE INDEX "governance_decisions_workspace_at_id_idx" ON "habitat"."governance_decisions"("workspace", "at", "id");

-- CreateIndex
CREATE INDEX "governance_decisions_at_id_idx" ON "habitat"."governance_decisions"("at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "audit_entries_id_key" ON "habitat"."audit_entries"("id");

-- CreateIndex
CREATE INDEX "audit_entries_at_chain_seq_idx" ON "habitat"."audit_entries"("at", "chain", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_chain_at_seq_idx" ON "habitat"."audit_entries"("chain", "at", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_actor_at_chain_seq_idx" ON "habitat"."audit_entries"("actor", "at", "chain", "seq");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_position_key" ON "habitat"."outbox"("position");

-- CreateIndex
CREATE INDEX "outbox_position_written_idx" ON "habitat"."outbox"("position", "written");

-- CreateIndex
CREATE INDEX "idempotency_at_idx" ON "habitat"."idempotency"("at");

-- CreateIndex
CREATE INDEX "audit_outbox_written_idx" ON "habitat"."audit_outbox"("written");

-- There is exactly one of each of these rows, and it is there from the start.
ALTER TABLE "habitat"."outbox_head" ADD CONSTRAINT "outbox_head_one" CHECK ("one");
INSERT INTO "habitat"."outbox_head" DEFAULT VALUES;
ALTER TABLE "habitat"."registry_revision" ADD CONSTRAINT "registry_revision_one" CHECK ("one");
INSERT INTO "habitat"."registry_revision" DEFAULT VALUES;
ALTER TABLE "habitat"."succession" ADD CONSTRAINT "succession_one" CHECK ("one");
INSERT INTO "habitat"."succession" DEFAULT VALUES;

-- The default workspace always exists, without owner or admin until one is granted.
INSERT INTO "habitat"."workspaces" (workspace_id, folded, name, created_at, created_by)
  VALUES ('default', 'default', 'default', now(), 'system');

ALTER TABLE "habitat"."roles" ADD CONSTRAINT "roles_role" CHECK ("role" IN ('admin', 'editor', 'viewer'));
ALTER TABLE "habitat"."tokens" ADD CONSTRAINT "tokens_kind" CHECK ("kind" IN ('habitat', 'auth'));
ALTER TABLE "habitat"."trust" ADD CONSTRAINT "trust_score" CHECK ("score" BETWEEN 0 AND 1000000);

-- Entries of the audit are only ever added.
-- (\x3b is the semicolon inside the body: tools that split this file into statements must not split there.)
CREATE FUNCTION "habitat".refuse_change() RETURNS trigger LANGUAGE plpgsql AS
  E'BEGIN RAISE EXCEPTION \'entries of the audit are never changed\'\x3b END';
CREATE TRIGGER "audit_entries_append_only" BEFORE UPDATE OR DELETE ON "habitat"."audit_entries"
  FOR EACH ROW EXECUTE FUNCTION "habitat".refuse_change();
CREATE TRIGGER "audit_entries_no_truncate" BEFORE TRUNCATE ON "habitat"."audit_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION "habitat".refuse_change();
