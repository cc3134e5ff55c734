-- CreateTable
CREATE TABLE "brain"."lineage_graphs" (
    "workspace" TEXT NOT NULL,
    "nodes" BIGINT NOT NULL DEFAULT 0,
    "edges" BIGINT NOT NULL DEFAULT 0,
    "roots" BIGINT NOT NULL DEFAULT 0,
    "max_depth" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "lineage_graphs_pkey" PRIMARY KEY ("workspace")
);

-- CreateTable
CREATE TABLE "brain"."lineage_nodes" (
    "workspace" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "event" TEXT NOT NULL,
    "data" TEXT NOT NULL,
    "depth" INTEGER NOT NULL DEFAULT 0,
    "edges" INTEGER NOT NULL DEFAULT 0,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "lineage_nodes_pkey" PRIMARY KEY ("workspace","id")
);

-- CreateTable
CREATE TABLE "brain"."lineage_edges" (
    "workspace" TEXT NOT NULL,
    "child" TEXT NOT NULL,
    "parent" TEXT NOT NULL,

    CONSTRAINT "lineage_edges_pkey" PRIMARY KEY ("workspace","child","parent")
);

-- CreateTable
CREATE TABLE "brain"."lineage_events" (
    "workspace" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "nodes" BIGINT NOT NULL,

    CONSTRAINT "lineage_events_pkey" PRIMARY KEY ("workspace","event")
);

-- CreateIndex
CREATE INDEX "lineage_nodes_workspace_event_seq_idx" ON "brain"."lineage_nodes"("workspace", "event", "seq");

-- CreateIndex
CREATE INDEX "lineage_edges_workspace_parent_idx" ON "brain"."lineage_edges"("workspace", "parent");

-- CreateIndex
CREATE INDEX "lineage_events_workspace_nodes_idx" ON "brain"."lineage_events"("workspace", "nodes");
