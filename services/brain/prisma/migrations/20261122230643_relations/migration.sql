-- CreateTable
CREATE TABLE "brain"."brain_links" (
    "brain_id" TEXT NOT NULL,
    "from" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_links_pkey" PRIMARY KEY ("brain_id","from","to","type")
);

-- CreateTable
CREATE TABLE "brain"."brain_attention" (
    "brain_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "score" DOUBLE PRECISION NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_attention_pkey" PRIMARY KEY ("brain_id","name")
);

-- CreateTable
CREATE TABLE "brain"."brain_synapses" (
    "workspace" TEXT NOT NULL,
    "from_id" TEXT NOT NULL,
    "to_id" TEXT NOT NULL,
    "weight" DOUBLE PRECISION NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_synapses_pkey" PRIMARY KEY ("workspace","from_id","to_id")
);

-- CreateTable
CREATE TABLE "brain"."brain_insights" (
    "workspace" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "insight" TEXT NOT NULL,
    "source" TEXT,
    "tags" TEXT[],
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_insights_pkey" PRIMARY KEY ("workspace","id")
);
