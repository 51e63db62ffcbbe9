//! The list of what is caught. A call that is added here, with the arguments that say what it sends, is hooked in
//! all its forms and spellings, delayed and recorded.

use std::ffi::{c_int, c_void};

use jitterlab_injector::control::Hook;

use super::call::Call;
use super::collective::{
    ForAll, ForEach, ForEachTyped, Gathered, GatheredParts, Neighbours, NeighboursParts,
    NeighboursTyped, Nothing, Part, Parts, Reduced, Rooted, Scattered, ScatteredParts, Sum, Times,
    Whole,
};
use super::content::{
    Element, Message, OneSided, Partitioned, Ready, ReadyList, ReadyRange, Sends, pass,
};
use super::door::Door;
use super::library::Language;
use super::requests;
use super::sent::Kept;
use crate::interpose::{SLOTS, interposed};
use crate::real::c_name;
use crate::{recorder, state};

/// Names in C, as they are, with small and with large letters; hook, arguments, and which of these say
/// what is sent. What stands under `alone` has one form; what `sends` or is a collective also returns at once
/// (`MPI_Isend`), and makes a request of what is done each time that it is started (`MPI_Send_init`).
macro_rules! calls {
    (
        alone {$(
            $name:ident $lower:ident $upper:ident: $hook:ident($($argument:ident),*)
                $content:ident { $($part:ident),* };
        )*}
        sends {$(
            $send:ident $send_lower:ident $send_upper:ident: $send_hook:ident($($send_argument:ident),*)
                $send_content:ident { $($send_part:ident),* };
        )*}
        collectives {$(
            $all:ident $all_lower:ident $all_upper:ident: $all_hook:ident($($all_argument:ident),*)
                $all_content:ident { $($all_part:ident),* };
        )*}
    ) => {
        impl Call {
            /// Names in C. A message of a persistent request is its start's, a collective that is started has the
            /// name of the call that made it.
            pub(crate) const NAMES: &[&str] = &[
                $(concat!("MPI_", stringify!($name)),)*
                $(
                    concat!("MPI_", stringify!($send)),
                    concat!("MPI_I", stringify!($send_lower)),
                )*
                $(
                    concat!("MPI_", stringify!($all)),
                    concat!("MPI_I", stringify!($all_lower)),
                    concat!("MPI_", stringify!($all), "_init"),
                )*
                "MPI_Start",
                "MPI_Startall",
            ];
        }

        $(spellings! { hook "MPI" "mpi" stringify!($name), stringify!($lower), stringify!($upper);
            ($($argument)*) $hook $content { $($part),* } })*

        $(
            spellings! { hook "MPI" "mpi" stringify!($send), stringify!($send_lower), stringify!($send_upper);
                ($($send_argument)*) $send_hook $send_content { $($send_part),* } }
            spellings! { hook "MPI" "mpi" concat!("I", stringify!($send_lower)),
                concat!("i", stringify!($send_lower)), concat!("I", stringify!($send_upper));
                ($($send_argument)* request) $send_hook $send_content { $($send_part),* } }
            spellings! { around "MPI" "mpi" concat!(stringify!($send), "_init"),
                concat!(stringify!($send_lower), "_init"), concat!(stringify!($send_upper), "_INIT");
                ($($send_argument)* request)
                |_| (); |door| {
                    let content = $send_content { $($send_part),* };
                    requests::keep(door, request, content.kept(door));
                } }
        )*

        $(
            spellings! { hook "MPI" "mpi" stringify!($all), stringify!($all_lower), stringify!($all_upper);
                ($($all_argument)*) $all_hook $all_content { $($all_part),* } }
            spellings! { hook "MPI" "mpi" concat!("I", stringify!($all_lower)),
                concat!("i", stringify!($all_lower)), concat!("I", stringify!($all_upper));
                ($($all_argument)* request) $all_hook $all_content { $($all_part),* } }
            persistent! { "MPI" "mpi" $all $all_lower $all_upper ($($all_argument)*) $all_content { $($all_part),* } }
            // Open MPI 4 has them under the names of before they were standard.
            persistent! { "MPIX" "mpix" $all $all_lower $all_upper ($($all_argument)*) $all_content { $($all_part),* } }
        )*
    };
}

/// The form of a collective that makes a request of it.
macro_rules! persistent {
    (
        $mpi:literal $mpi_lower:literal $all:ident $lower:ident $upper:ident
        ($($argument:ident)*) $content:expr
    ) => {
        spellings! { around $mpi $mpi_lower concat!(stringify!($all), "_init"),
            concat!(stringify!($lower), "_init"), concat!(stringify!($upper), "_INIT");
            ($($argument)* info request)
            |_| (); |door| {
                let call = const { Call::named(concat!("MPI_", stringify!($all), "_init")) };
                requests::keep(door, request, Some(Kept::collective(door, call, &$content)));
            } }
    };
}

calls! {
    alone {
        Sendrecv sendrecv SENDRECV:
            MpiSend(buffer, count, datatype, peer, tag, into, length, of, from, its_tag, comm, status)
            Message { count, datatype, peer, comm };
        Sendrecv_replace sendrecv_replace SENDRECV_REPLACE:
            MpiSend(buffer, count, datatype, peer, tag, from, its_tag, comm, status)
            Message { count, datatype, peer, comm };
        Isendrecv isendrecv ISENDRECV:
            MpiSend(buffer, count, datatype, peer, tag, into, length, of, from, its_tag, comm, request)
            Message { count, datatype, peer, comm };
        Isendrecv_replace isendrecv_replace ISENDRECV_REPLACE:
            MpiSend(buffer, count, datatype, peer, tag, from, its_tag, comm, request)
            Message { count, datatype, peer, comm };
        Pready pready PREADY: MpiSend(partition, request) Ready { request };
        Pready_range pready_range PREADY_RANGE: MpiSend(low, high, request)
            ReadyRange { low, high, request };
        Pready_list pready_list PREADY_LIST: MpiSend(length, partitions, request)
            ReadyList { length, request };

        Put put PUT: MpiRma(buffer, length, of, peer, place, count, datatype, window)
            OneSided { count, datatype, peer, window };
        Get get GET: MpiRma(buffer, length, of, peer, place, count, datatype, window)
            OneSided { count, datatype, peer, window };
        Accumulate accumulate ACCUMULATE:
            MpiRma(buffer, length, of, peer, place, count, datatype, operation, window)
            OneSided { count, datatype, peer, window };
        Get_accumulate get_accumulate GET_ACCUMULATE:
            MpiRma(buffer, length, of, into, its_length, its, peer, place, count, datatype, operation, window)
            OneSided { count, datatype, peer, window };
        Fetch_and_op fetch_and_op FETCH_AND_OP:
            MpiRma(buffer, into, datatype, peer, place, operation, window)
            Element { datatype, peer, window };
        Compare_and_swap compare_and_swap COMPARE_AND_SWAP:
            MpiRma(buffer, compared, into, datatype, peer, place, window)
            Element { datatype, peer, window };
        Rput rput RPUT: MpiRma(buffer, length, of, peer, place, count, datatype, window, request)
            OneSided { count, datatype, peer, window };
        Rget rget RGET: MpiRma(buffer, length, of, peer, place, count, datatype, window, request)
            OneSided { count, datatype, peer, window };
        Raccumulate raccumulate RACCUMULATE:
            MpiRma(buffer, length, of, peer, place, count, datatype, operation, window, request)
            OneSided { count, datatype, peer, window };
        Rget_accumulate rget_accumulate RGET_ACCUMULATE:
            MpiRma(buffer, length, of, into, its_length, its, peer, place, count, datatype, operation, window, request)
            OneSided { count, datatype, peer, window };
    }
    sends {
        Send send SEND: MpiSend(buffer, count, datatype, peer, tag, comm)
            Message { count, datatype, peer, comm };
        Bsend bsend BSEND: MpiSend(buffer, count, datatype, peer, tag, comm)
            Message { count, datatype, peer, comm };
        Ssend ssend SSEND: MpiSend(buffer, count, datatype, peer, tag, comm)
            Message { count, datatype, peer, comm };
        Rsend rsend RSEND: MpiSend(buffer, count, datatype, peer, tag, comm)
            Message { count, datatype, peer, comm };
    }
    collectives {
        Barrier barrier BARRIER: MpiCollective(comm) Nothing {};
        Bcast bcast BCAST: MpiCollective(buffer, count, datatype, root, comm)
            Rooted { count, datatype, root };
        Gather gather GATHER:
            MpiCollective(buffer, count, datatype, into, its_count, its_datatype, root, comm)
            Gathered { buffer, count, datatype, its_count, its_datatype, root };
        Gatherv gatherv GATHERV:
            MpiCollective(buffer, count, datatype, into, its_counts, places, its_datatype, root, comm)
            GatheredParts { buffer, count, datatype, its_counts, its_datatype, root, comm };
        Scatter scatter SCATTER:
            MpiCollective(buffer, count, datatype, into, its_count, its_datatype, root, comm)
            Scattered { count, datatype, root, comm };
        Scatterv scatterv SCATTERV:
            MpiCollective(buffer, counts, places, datatype, into, its_count, its_datatype, root, comm)
            ScatteredParts { counts, datatype, root, comm };
        Allgather allgather ALLGATHER:
            MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm)
            Part { buffer, count, datatype, its_count, its_datatype };
        Allgatherv allgatherv ALLGATHERV:
            MpiCollective(buffer, count, datatype, into, its_counts, places, its_datatype, comm)
            Parts { buffer, count, datatype, its_counts, its_datatype, comm };
        Alltoall alltoall ALLTOALL:
            MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm)
            ForAll { buffer, count, datatype, its_count, its_datatype, comm };
        Alltoallv alltoallv ALLTOALLV:
            MpiCollective(buffer, counts, places, datatype, into, its_counts, its_places, its_datatype, comm)
            ForEach { buffer, counts, datatype, its_counts, its_datatype, comm };
        Alltoallw alltoallw ALLTOALLW:
            MpiCollective(buffer, counts, places, datatypes, into, its_counts, its_places, its_datatypes, comm)
            ForEachTyped { buffer, counts, datatypes, its_counts, its_datatypes, comm };
        Reduce reduce REDUCE: MpiCollective(buffer, into, count, datatype, operation, root, comm)
            Reduced { count, datatype, root };
        Allreduce allreduce ALLREDUCE: MpiCollective(buffer, into, count, datatype, operation, comm)
            Whole { count, datatype };
        Reduce_scatter reduce_scatter REDUCE_SCATTER:
            MpiCollective(buffer, into, counts, datatype, operation, comm)
            Sum { counts, datatype, comm };
        Reduce_scatter_block reduce_scatter_block REDUCE_SCATTER_BLOCK:
            MpiCollective(buffer, into, count, datatype, operation, comm)
            Times { count, datatype, comm };
        Scan scan SCAN: MpiCollective(buffer, into, count, datatype, operation, comm)
            Whole { count, datatype };
        Exscan exscan EXSCAN: MpiCollective(buffer, into, count, datatype, operation, comm)
            Whole { count, datatype };

        Neighbor_allgather neighbor_allgather NEIGHBOR_ALLGATHER:
            MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm)
            Whole { count, datatype };
        Neighbor_allgatherv neighbor_allgatherv NEIGHBOR_ALLGATHERV:
            MpiCollective(buffer, count, datatype, into, its_counts, places, its_datatype, comm)
            Whole { count, datatype };
        Neighbor_alltoall neighbor_alltoall NEIGHBOR_ALLTOALL:
            MpiCollective(buffer, count, datatype, into, its_count, its_datatype, comm)
            Neighbours { count, datatype, comm };
        Neighbor_alltoallv neighbor_alltoallv NEIGHBOR_ALLTOALLV:
            MpiCollective(buffer, counts, places, datatype, into, its_counts, its_places, its_datatype, comm)
            NeighboursParts { counts, datatype, comm };
        Neighbor_alltoallw neighbor_alltoallw NEIGHBOR_ALLTOALLW:
            MpiCollective(buffer, counts, places, datatypes, into, its_counts, its_places, its_datatypes, comm)
            NeighboursTyped { counts, datatypes, comm };
    }
}

spellings! { around "MPI" "mpi" "Psend_init", "psend_init", "PSEND_INIT";
    (buffer partitions count datatype peer tag comm info request)
    |_| (); |door| {
        let content = Partitioned { count, datatype, peer, comm };
        requests::keep(door, request, content.kept(door));
    }
}

spellings! { around "MPI" "mpi" "Start", "start", "START"; (request)
    |door| requests::start(door, const { Call::named("MPI_Start") }, request, 1);
    |_| ()
}

spellings! { around "MPI" "mpi" "Startall", "startall", "STARTALL"; (count requests)
    |door| requests::start_all(door, const { Call::named("MPI_Startall") }, count, requests);
    |_| ()
}

spellings! { around "MPI" "mpi" "Request_free", "request_free", "REQUEST_FREE"; (request)
    |door| requests::forget(door, request);
    |_| ()
}
