mod approval;
mod calls;
mod durability;
mod flow;
mod harness;
mod interrupted;
mod limits;
